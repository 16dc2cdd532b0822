#include "lib/backend/cpu/op_fusion.h"

#include <optional>

namespace stoker::backend::cpu {
namespace {

using graph::ActivationKind;
using graph::Op;
using graph::OpKind;
using graph::ValueId;
using Readers = std::vector<std::vector<std::size_t>>;

constexpr std::int64_t kMostTaps = 64;

bool is_disjoint_2x2(const graph::Pool2DAttributes& a) {
  return a.is_max && a.window_h == 2 && a.window_w == 2 && a.stride_h == 2 && a.stride_w == 2 &&
         a.padding == graph::Padding2D{};
}

bool has_few_taps(const graph::Conv2DAttributes& a, const Shape& w) {
  return a.groups == 1 && w[0] * w[1] * w[2] <= kMostTaps && w[3] % 16 == 0;
}

bool is_plain_relu(const graph::ActivationAttributes& a) {
  return a.kind == ActivationKind::relu && a.alpha == 0.0f && a.threshold == 0.0f &&
         a.max_value == __builtin_inff();
}

const Shape& shape_of(const graph::Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].shape;
}

// Where a ReLU comes after the maximum, argmax is another one in windows without a positive value. That is
// the same to a gradient that counts only where the pool's output is positive.
bool argmax_counts_where_positive(const graph::Graph& graph, const Readers& readers, const Op& pool) {
  if (pool.outputs.size() < 2 || pool.outputs[1] == graph::kNoValue) return true;
  for (const std::size_t reader : readers[static_cast<std::size_t>(pool.outputs[1])]) {
    const Op& gradient = graph.ops[reader];
    if (gradient.kind != OpKind::pool2d_grad || gradient.inputs.size() < 3 ||
        gradient.inputs[2] != pool.outputs[0])
      return false;
  }
  return true;
}

std::optional<FusionKind> forward_fusion(const graph::Graph& graph, const Readers& readers, const Op& first,
                                         const Op& second) {
  if (first.kind != OpKind::conv2d || second.kind != OpKind::pool2d) return std::nullopt;
  const auto& convolution = std::get<graph::Conv2DAttributes>(first.attributes);
  const auto& pool = std::get<graph::Pool2DAttributes>(second.attributes);
  const bool relu = is_plain_relu(convolution.activation);
  if (!relu && convolution.activation.kind != ActivationKind::linear) return std::nullopt;
  if (relu && !argmax_counts_where_positive(graph, readers, second)) return std::nullopt;
  if (has_few_taps(convolution, shape_of(graph, first.inputs[1])) && is_disjoint_2x2(pool))
    return FusionKind::conv_pool;
  if (relu && pool.is_max) return FusionKind::relu_after_pool;
  return std::nullopt;
}

std::optional<FusionKind> backward_fusion(const graph::Graph& graph, const Op& first, const Op& second) {
  if (first.kind != OpKind::pool2d_grad || second.kind != OpKind::conv2d_grad_weights ||
      second.inputs[1] != first.outputs[0])
    return std::nullopt;
  const auto& convolution = std::get<graph::Conv2DAttributes>(second.attributes);
  if (has_few_taps(convolution, shape_of(graph, second.outputs[0])) &&
      is_disjoint_2x2(std::get<graph::Pool2DAttributes>(first.attributes)))
    return FusionKind::conv_pool_gradient;
  return std::nullopt;
}

}  // namespace

std::vector<Fusion> find_fusions(const graph::Graph& graph) {
  const Readers readers = graph::readers_of(graph);
  std::vector<Fusion> fusions;
  for (std::size_t first = 0; first < graph.ops.size(); ++first) {
    const Op& op = graph.ops[first];
    if (op.kind != OpKind::conv2d && op.kind != OpKind::pool2d_grad) continue;
    const auto between = static_cast<std::size_t>(op.outputs[0]);
    if (graph.values[between].role != graph::Role::activation || readers[between].size() != 1) continue;
    const std::size_t second = readers[between][0];
    auto kind = forward_fusion(graph, readers, op, graph.ops[second]);
    if (!kind) kind = backward_fusion(graph, op, graph.ops[second]);
    if (kind) fusions.push_back({*kind, first, second});
  }
  return fusions;
}

}  // namespace stoker::backend::cpu
