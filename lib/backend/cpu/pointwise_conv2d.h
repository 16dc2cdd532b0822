// Gradients of 1×1 convolutions as matrix products over the pixels.
#pragma once

#include "lib/backend/cpu/kernel.h"

namespace stoker::backend::cpu {

// 1×1, one group, no padding; any stride.
bool is_pointwise(const graph::Conv2DAttributes& attributes, const Shape& w_shape);

std::unique_ptr<Kernel> make_pointwise_grad_input(const CompileContext& context);
std::unique_ptr<Kernel> make_pointwise_grad_weights(const CompileContext& context);

}  // namespace stoker::backend::cpu
