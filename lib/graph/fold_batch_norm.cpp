#include "lib/graph/graph.h"
#include "lib/graph/graph_edit.h"
#include "lib/graph/op_table.h"

namespace stoker::graph {
namespace {

std::int64_t elements(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].shape.elements();
}

// The conv2d or matmul whose output this batch_norm_inference alone reads, if folding saves work: the kernel,
// which is scaled at every run, must be smaller than the output, which need not be read and written again.
Op* foldable_producer(Graph& graph, const std::vector<std::vector<std::size_t>>& readers, const Op& norm) {
  const ValueId x = norm.inputs[0];
  Op* producer = producer_of(graph, x);
  if (producer == nullptr || (producer->kind != OpKind::conv2d && producer->kind != OpKind::matmul))
    return nullptr;
  if (readers[static_cast<std::size_t>(x)].size() != 1 || x == graph.prediction ||
      graph.values[static_cast<std::size_t>(x)].role != Role::activation)
    return nullptr;
  if (fused_activation(*producer)->kind != ActivationKind::linear) return nullptr;
  return elements(graph, producer->inputs[1]) < elements(graph, x) ? producer : nullptr;
}

ValueId zeros(Graph& graph, std::int64_t size, const std::string& name) {
  graph.constants.emplace_back(static_cast<std::size_t>(size), 0.0f);
  graph.values.push_back({name + "/zeros", Shape{size}, DType::f32, Role::constant,
                          static_cast<std::int64_t>(graph.constants.size() - 1), -1});
  return static_cast<ValueId>(graph.values.size() - 1);
}

// The normalisation is x·s + t a channel, so the kernel becomes w·s and the bias bias·s + t. w·s is what
// batch_norm_inference_grad computes of w, whose last axis is the channels; bias·s + t is the normalisation
// itself. Appends these ops at the end; returns the new kernel and bias.
std::pair<ValueId, ValueId> append_folded_weights(Graph& graph, const Op& producer, const Op& norm) {
  BatchNormAttributes attributes = std::get<BatchNormAttributes>(norm.attributes);
  attributes.activation = {};
  const ValueId gamma = norm.inputs[1], beta = norm.inputs[2], mean = norm.inputs[3],
                variance = norm.inputs[4];
  const ValueId kernel = append_op(
      graph,
      {OpKind::batch_norm_inference_grad, attributes, {producer.inputs[1], gamma, variance}, norm.name})[0];
  const std::int64_t channels = elements(graph, mean);
  const bool has_bias = producer.inputs.size() > 2 && producer.inputs[2] != kNoValue;
  const ValueId bias = has_bias ? producer.inputs[2] : zeros(graph, channels, norm.name);
  const Shape row{1, channels}, vector{channels};
  const ValueId bias_row =
      append_op(graph, {OpKind::reshape, NoAttributes{}, {bias}, norm.name, {true}, &row})[0];
  const ValueId shifted = append_op(
      graph,
      {OpKind::batch_norm_inference, attributes, {bias_row, gamma, beta, mean, variance}, norm.name})[0];
  return {kernel,
          append_op(graph, {OpKind::reshape, NoAttributes{}, {shifted}, norm.name, {true}, &vector})[0]};
}

// Ops that the pass made, to be put before an op.
struct Insertion {
  std::size_t first = 0, last = 0;  // [first, last) of the ops
};

// The ops without the dead ones, each with its insertion before it.
std::vector<Op> in_order(std::vector<Op> ops, const std::vector<Insertion>& insertions,
                         const std::vector<bool>& dead) {
  std::vector<Op> ordered;
  for (std::size_t i = 0; i < dead.size(); ++i) {
    for (std::size_t k = insertions[i].first; k < insertions[i].last; ++k)
      ordered.push_back(std::move(ops[k]));
    if (!dead[i]) ordered.push_back(std::move(ops[i]));
  }
  return ordered;
}

}  // namespace

void fold_batch_norm(Graph& graph) {
  const std::size_t op_count = graph.ops.size();
  if (graph.forward_ops != op_count) return;  // gradients want the op as it is
  const auto readers = readers_of(graph);
  std::vector<Insertion> insertions(op_count);
  std::vector<bool> dead(op_count, false);
  for (std::size_t i = 0; i < op_count; ++i) {
    const Op norm = graph.ops[i];
    if (norm.kind != OpKind::batch_norm_inference) continue;
    const Op* producer = foldable_producer(graph, readers, norm);
    if (producer == nullptr) continue;
    const std::size_t at = static_cast<std::size_t>(producer - graph.ops.data());
    insertions[at].first = graph.ops.size();
    const auto [kernel, bias] = append_folded_weights(graph, Op(*producer), norm);
    insertions[at].last = graph.ops.size();

    Op& folded = graph.ops[at];
    folded.inputs = {folded.inputs[0], kernel, bias};
    folded.outputs[0] = norm.outputs[0];
    *fused_activation(folded) = std::get<BatchNormAttributes>(norm.attributes).activation;
    dead[i] = true;
  }
  graph.ops = in_order(std::move(graph.ops), insertions, dead);
  graph.forward_ops = graph.ops.size();
  find_producers(graph);
}

}  // namespace stoker::graph
