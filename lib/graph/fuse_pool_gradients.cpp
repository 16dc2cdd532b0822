#include <limits>

#include "lib/graph/graph.h"
#include "lib/graph/graph_edit.h"

namespace stoker::graph {
namespace {

// Whether `op` is the gradient of a ReLU without an upper end, as pool2d_grad can take it over.
bool is_fusable(const Op& op) {
  if (op.kind != OpKind::activation_grad) return false;
  const auto& attributes = std::get<ActivationAttributes>(op.attributes);
  return is_plain_relu(attributes) && attributes.from_output &&
         attributes.max_value == std::numeric_limits<float>::infinity();
}

// dv = activation_grad(pool2d_grad(dp, argmax), y): where the argmax points, y is the pooled p; elsewhere the
// gradient is zero anyway. So the ReLU's mask is p > 0, on the smaller tensor.
bool fuse(Graph& graph, const std::vector<std::vector<std::size_t>>& readers, std::size_t index) {
  const Op relu_grad = graph.ops[index];
  const ValueId pool_dx = relu_grad.inputs[0], y = relu_grad.inputs[1];
  Op* pool_grad = producer_of(graph, pool_dx);
  if (pool_grad == nullptr || pool_grad->kind != OpKind::pool2d_grad || pool_grad->inputs.size() != 2)
    return false;
  if (readers[static_cast<std::size_t>(pool_dx)].size() != 1) return false;
  const Op* pool = producer_of(graph, pool_grad->inputs[1], 1);
  if (pool == nullptr || pool->kind != OpKind::pool2d || pool->inputs[0] != y) return false;
  const ValueId pooled = pool->outputs[0], dv = relu_grad.outputs[0];
  pool_grad->inputs.push_back(pooled);
  pool_grad->outputs[0] = dv;
  graph.values[static_cast<std::size_t>(dv)].producer =
      static_cast<std::int32_t>(pool_grad - graph.ops.data());
  return true;
}

}  // namespace

void fuse_pool_gradients(Graph& graph) {
  const auto readers = readers_of(graph);
  std::vector<bool> dead(graph.ops.size(), false);
  for (std::size_t i = graph.forward_ops; i < graph.ops.size(); ++i)
    if (is_fusable(graph.ops[i])) dead[i] = fuse(graph, readers, i);
  erase_ops(graph, dead);
}

}  // namespace stoker::graph
