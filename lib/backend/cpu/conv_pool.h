// A first convolution and the max pooling behind it as one kernel.
//
// The output of a convolution of one or three channels is many times larger than its input and costs little
// arithmetic, so writing and reading it is most of the time that it and its pooling take, forward and
// backward. These kernels keep it in registers. They replace pairs of ops:
//   conv2d, pool2d                          where nothing else reads the convolution's output
//   pool2d_grad, conv2d_grad_weights        where nothing else reads the pool's gradient (no gradient of the
//                                           convolution's input is asked for)
// for up to 64 taps (kh·kw·c), one group, output channels in multiples of 16, and 2×2 max pooling with stride
// 2 and no padding. Numbers are those of the separate ops but for rounding.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "lib/backend/cpu/kernel.h"

namespace stoker::backend::cpu {

struct FusedPair {
  std::size_t first, second;  // indices of ops; the kernel runs in the place of the second
};

std::vector<FusedPair> find_conv_pool_pairs(const graph::Graph& graph);

// `context` is that of the pair's second op.
std::unique_ptr<Kernel> make_conv_pool(const CompileContext& context, const graph::Op& convolution);
std::unique_ptr<Kernel> make_conv_pool_grad_weights(const CompileContext& context,
                                                    const graph::Op& pool_gradient);

}  // namespace stoker::backend::cpu
