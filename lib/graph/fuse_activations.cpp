#include "lib/graph/graph.h"
#include "lib/graph/graph_edit.h"

namespace stoker::graph {
namespace {

using Readers = std::vector<std::vector<std::size_t>>;

// Whether op `reader` alone uses the value, which lies in the arena.
bool only_reader(const Graph& graph, const Readers& readers, ValueId id, std::size_t reader) {
  const std::size_t index = static_cast<std::size_t>(id);
  return graph.values[index].role == Role::activation && id != graph.prediction &&
         readers[index].size() == 1 && readers[index][0] == reader;
}

// Where a gradient reads the activation's input (gelu), that input has two readers and stays.
bool fuse_forward(Graph& graph, const Readers& readers, std::size_t index) {
  const Op& activation = graph.ops[index];
  Op* producer = producer_of(graph, activation.inputs[0]);
  ActivationAttributes* fused = producer == nullptr ? nullptr : fused_activation(*producer);
  if (fused == nullptr || fused->kind != ActivationKind::linear) return false;
  if (!only_reader(graph, readers, activation.inputs[0], index)) return false;
  *fused = std::get<ActivationAttributes>(activation.attributes);
  producer->outputs[0] = activation.outputs[0];
  graph.values[static_cast<std::size_t>(activation.outputs[0])].producer =
      static_cast<std::int32_t>(producer - graph.ops.data());
  return true;
}

// activation_grad(dy, y) → batch_norm_grad, where y is the batch_norm's output with its ReLU. Returns the
// index of the activation_grad that is no longer needed, or that of no op.
std::size_t fuse_backward(Graph& graph, const Readers& readers, std::size_t index) {
  const std::size_t none = graph.ops.size();
  Op& gradient = graph.ops[index];
  Op* relu_grad = producer_of(graph, gradient.inputs[0]);
  if (gradient.inputs.size() != 5 || relu_grad == nullptr || relu_grad->kind != OpKind::activation_grad)
    return none;
  const auto& attributes = std::get<ActivationAttributes>(relu_grad->attributes);
  if (!is_plain_relu(attributes) || !attributes.from_output) return none;
  if (!only_reader(graph, readers, gradient.inputs[0], index)) return none;
  const ValueId y = relu_grad->inputs[1];
  Op* forward = producer_of(graph, y);
  if (forward == nullptr || forward->kind != OpKind::batch_norm) return none;
  const ActivationAttributes& fused = *fused_activation(*forward);
  if (!is_plain_relu(fused) || fused.max_value != attributes.max_value) return none;
  if (producer_of(graph, gradient.inputs[3], 1) != forward) return none;
  std::get<BatchNormAttributes>(gradient.attributes).activation = fused;
  gradient.inputs[0] = relu_grad->inputs[0];
  gradient.inputs.push_back(y);
  return static_cast<std::size_t>(relu_grad - graph.ops.data());
}

}  // namespace

void fuse_activations(Graph& graph) {
  const Readers readers = readers_of(graph);
  std::vector<bool> dead(graph.ops.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    if (graph.ops[i].kind == OpKind::activation) dead[i] = fuse_forward(graph, readers, i);
  for (std::size_t i = graph.forward_ops; i < graph.ops.size(); ++i)
    if (graph.ops[i].kind == OpKind::batch_norm_grad) {
      const std::size_t replaced = fuse_backward(graph, readers, i);
      if (replaced < graph.ops.size()) dead[replaced] = true;
    }
  erase_ops(graph, dead);
}

}  // namespace stoker::graph
