// A first convolution and the max pooling behind it as one kernel (op_fusion.h says when).
//
// The output of a convolution of one or three channels is many times larger than its input and costs little
// arithmetic, so writing and reading it is most of the time that it and its pooling take, forward and
// backward. These kernels keep it in registers.
#pragma once

#include <memory>

#include "lib/backend/cpu/kernel.h"

namespace stoker::backend::cpu {

// `context` is that of the pair's second op.
std::unique_ptr<Kernel> make_conv_pool(const CompileContext& context, const graph::Op& convolution);
std::unique_ptr<Kernel> make_conv_pool_grad_weights(const CompileContext& context,
                                                    const graph::Op& pool_gradient);

}  // namespace stoker::backend::cpu
