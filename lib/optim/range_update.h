// What Optimizer::update() hands to the step of one chunk, and the loop over its elements. Internal to
// lib/optim.
#pragma once

#include "lib/kernels/optimizer_kernels.h"
#include "lib/optim/optimizer.h"

namespace stoker::optim {

inline constexpr std::size_t kMaxSlots = 3;

struct Optimizer::RangeUpdate {
  std::int64_t step = 0;
  float learning_rate = 0;
  float weight_decay = 0;
  kernels::GradientRule rule;

  // Calls step(i, w, g) for every element with the weight after decay and the gradient after regularisers and
  // clipping, and stores the weight. The plain case, no rule and no decay, is a loop of its own, as it runs
  // at memory speed.
  template <typename Step>
  void for_each_element(std::int64_t count, float* parameters, const float* gradients, Step step_body) const {
    float* __restrict const w = parameters;
    const float* __restrict const g = gradients;
    if (rule.is_identity() && weight_decay == 0) {
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) step_body(i, w[i], g[i]);
      return;
    }
    // Copies, which no store through a pointer can change.
    const kernels::GradientRule fixed_rule = rule;
    const float decay = weight_decay, rate = learning_rate;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const float raw = kernels::regularized_gradient(g[i], w[i], fixed_rule);
      const float gradient = kernels::clipped_gradient(raw, fixed_rule);
      w[i] = kernels::decayed_weight(w[i], decay, rate);
      step_body(i, w[i], gradient);
    }
  }
};

}  // namespace stoker::optim
