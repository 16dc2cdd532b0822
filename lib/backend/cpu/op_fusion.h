// Pairs of ops that the CPU runs otherwise than one after the other. Numbers are those of the separate ops
// but for rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/graph/graph.h"

namespace stoker::backend::cpu {

enum class FusionKind : std::uint8_t {
  // One kernel in the place of the second op (conv_pool.h); the value between has no memory. For up to 64
  // taps (kh·kw·c), one group, output channels in multiples of 16, and 2×2 max pooling with stride 2 and no
  // padding.
  conv_pool,           // conv2d, pool2d: where nothing else reads the convolution's output
  conv_pool_gradient,  // pool2d_grad, conv2d_grad_weights: where the convolution's input needs no gradient
  // conv2d with a ReLU, pool2d by maximum: the ReLU moves behind the pool, where it costs nothing.
  relu_after_pool,
};

struct Fusion {
  FusionKind kind;
  std::size_t first, second;  // indices of ops
  bool is_one_kernel() const { return kind != FusionKind::relu_after_pool; }
};

// No op is in two of them.
std::vector<Fusion> find_fusions(const graph::Graph& graph);

}  // namespace stoker::backend::cpu
