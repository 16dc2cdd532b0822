#include "lib/graph/graph_edit.h"

namespace stoker::graph {

void erase_ops(Graph& graph, const std::vector<bool>& dead) {
  std::vector<Op> kept;
  std::size_t forward_ops = 0;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (dead[i]) continue;
    if (i < graph.forward_ops) ++forward_ops;
    kept.push_back(std::move(graph.ops[i]));
  }
  graph.ops = std::move(kept);
  graph.forward_ops = forward_ops;
  find_producers(graph);
}

void find_producers(Graph& graph) {
  for (Value& value : graph.values) value.producer = -1;
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    for (const ValueId id : graph.ops[i].outputs)
      if (id != kNoValue) graph.values[static_cast<std::size_t>(id)].producer = static_cast<std::int32_t>(i);
}

Op* producer_of(Graph& graph, ValueId id, std::size_t output) {
  if (id == kNoValue) return nullptr;
  const std::int32_t producer = graph.values[static_cast<std::size_t>(id)].producer;
  if (producer < 0) return nullptr;
  Op& op = graph.ops[static_cast<std::size_t>(producer)];
  return output < op.outputs.size() && op.outputs[output] == id ? &op : nullptr;
}

bool is_plain_relu(const ActivationAttributes& activation) {
  return activation.kind == ActivationKind::relu && activation.alpha == 0 && activation.threshold == 0 &&
         activation.max_value > 0;
}

ActivationAttributes* fused_activation(Op& op) {
  switch (op.kind) {
    case OpKind::conv2d:
      return &std::get<Conv2DAttributes>(op.attributes).activation;
    case OpKind::matmul:
      return &std::get<MatMulAttributes>(op.attributes).activation;
    case OpKind::batch_norm:
    case OpKind::batch_norm_inference:
      return &std::get<BatchNormAttributes>(op.attributes).activation;
    case OpKind::binary:
      return &std::get<BinaryAttributes>(op.attributes).activation;
    default:
      return nullptr;
  }
}

}  // namespace stoker::graph
