#include <algorithm>

#include "lib/graph/graph.h"
#include "lib/graph/graph_edit.h"
#include "lib/graph/op_table.h"

namespace stoker::graph {
namespace {

bool leaves_the_graph(Role role) {
  return role == Role::gradient || role == Role::statistic || role == Role::output;
}

// By value: whether something that leaves the graph depends on it.
std::vector<bool> find_needed(const Graph& graph, std::vector<bool>& dead_ops) {
  std::vector<bool> needed(graph.values.size(), false);
  for (std::size_t id = 0; id < needed.size(); ++id) needed[id] = leaves_the_graph(graph.values[id].role);
  if (graph.prediction != kNoValue) {
    const ValueId root = memory_root(graph, graph.prediction);
    if (graph.values[static_cast<std::size_t>(root)].role == Role::output)
      needed[static_cast<std::size_t>(graph.prediction)] = true;
  }
  const auto is_needed = [&](ValueId id) { return id != kNoValue && needed[static_cast<std::size_t>(id)]; };
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    dead_ops[i] = std::none_of(op.outputs.begin(), op.outputs.end(), is_needed);
    if (dead_ops[i]) continue;
    for (const ValueId id : op.inputs)
      if (id != kNoValue) needed[static_cast<std::size_t>(id)] = true;
  }
  return needed;
}

}  // namespace

void remove_dead_ops(Graph& graph) {
  std::vector<bool> dead(graph.ops.size());
  const std::vector<bool> needed = find_needed(graph, dead);
  for (Op& op : graph.ops) {
    for (std::size_t k = definition_of(op.kind).required_outputs; k < op.outputs.size(); ++k)
      if (op.outputs[k] != kNoValue && !needed[static_cast<std::size_t>(op.outputs[k])])
        op.outputs[k] = kNoValue;
    while (!op.outputs.empty() && op.outputs.back() == kNoValue) op.outputs.pop_back();
  }
  if (graph.prediction != kNoValue) {
    const std::int32_t producer = graph.values[static_cast<std::size_t>(graph.prediction)].producer;
    if (producer >= 0 && dead[static_cast<std::size_t>(producer)]) graph.prediction = kNoValue;
  }
  erase_ops(graph, dead);
}

void run_passes(Graph& graph) {
  // Dead readers would keep ops from being fused; the activation behind a batch_norm_inference follows it.
  remove_dead_ops(graph);
  fuse_padding(graph);
  fold_batch_norm(graph);
  fuse_activations(graph);
  fuse_pool_gradients(graph);
  remove_dead_ops(graph);
}

}  // namespace stoker::graph
