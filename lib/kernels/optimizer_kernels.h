// One element of an optimizer's update: bodies over scalars that g++ and nvcc both compile. Callers
// (lib/optim on the host) loop over the elements.
//
// w is the weight, g the gradient of the loss alone; all fp32, in the order of operations of Keras 3
// (keras/src/optimizers), so that the result agrees to rounding. Compile without contraction to fused
// multiply-adds (-ffp-contract=off): then the bits do not depend on the instruction set.
#pragma once

#include <cmath>
#include <limits>

#include "lib/kernels/kernel.h"

namespace stoker::kernels {

// What a gradient meets on its way into the step.
struct GradientRule {
  float l1 = 0, l2 = 0;                                  // the regulariser l1·Σ|w| + l2·Σw²
  float scale = 1;                                       // of clipping by a norm
  float bound = std::numeric_limits<float>::infinity();  // of clipping by value
  bool is_identity() const {
    return l1 == 0 && l2 == 0 && scale == 1 && bound == std::numeric_limits<float>::infinity();
  }
};

// g + d/dw (l1·|w| + l2·w²), with sign(0) = 0.
STOKER_KERNEL float regularized_gradient(float g, float w, const GradientRule& rule) {
  const float sign = static_cast<float>(w > 0.0F) - static_cast<float>(w < 0.0F);
  return g + rule.l2 * 2.0F * w + rule.l1 * sign;
}

STOKER_KERNEL float clipped_gradient(float g, const GradientRule& rule) {
  const float scaled = g * rule.scale;
  const float below = scaled > rule.bound ? rule.bound : scaled;  // a NaN stays one
  return below < -rule.bound ? -rule.bound : below;
}

// Decoupled weight decay, before the step.
STOKER_KERNEL float decayed_weight(float w, float weight_decay, float learning_rate) {
  return w - w * weight_decay * learning_rate;
}

STOKER_KERNEL void sgd_step(float& w, float g, float learning_rate) { w -= g * learning_rate; }

STOKER_KERNEL void sgd_momentum_step(float& w, float& m, float g, float learning_rate, float momentum) {
  m = m * momentum - g * learning_rate;
  w += m;
}

STOKER_KERNEL void sgd_nesterov_step(float& w, float& m, float g, float learning_rate, float momentum) {
  m = m * momentum - g * learning_rate;
  w += m * momentum - g * learning_rate;
}

struct AdamConstants {
  float one_minus_beta_1, one_minus_beta_2, epsilon;
  float alpha;  // learning_rate · √(1 - β₂ᵗ) / (1 - β₁ᵗ)
};

STOKER_KERNEL void adam_step(float& w, float& m, float& v, float g, const AdamConstants& c) {
  m += (g - m) * c.one_minus_beta_1;
  v += (g * g - v) * c.one_minus_beta_2;
  w -= m * c.alpha / (std::sqrt(v) + c.epsilon);
}

STOKER_KERNEL void amsgrad_step(float& w, float& m, float& v, float& v_hat, float g, const AdamConstants& c) {
  m += (g - m) * c.one_minus_beta_1;
  v += (g * g - v) * c.one_minus_beta_2;
  v_hat = v > v_hat ? v : v_hat;
  w -= m * c.alpha / (std::sqrt(v_hat) + c.epsilon);
}

struct RmspropConstants {
  float rho, one_minus_rho, momentum, epsilon, learning_rate;
};

// The increment of the weight, or of its momentum.
STOKER_KERNEL float rmsprop_increment(float& v, float g, const RmspropConstants& c) {
  v = c.rho * v + c.one_minus_rho * (g * g);
  return c.learning_rate * g / std::sqrt(v + c.epsilon);
}

// `a` is the average gradient, whose square is taken off the average square.
STOKER_KERNEL float rmsprop_centered_increment(float& v, float& a, float g, const RmspropConstants& c) {
  v = c.rho * v + c.one_minus_rho * (g * g);
  a = c.rho * a + c.one_minus_rho * g;
  return c.learning_rate * g / std::sqrt(v - a * a + c.epsilon);
}

STOKER_KERNEL void rmsprop_momentum_step(float& w, float& m, float increment, float momentum) {
  m = momentum * m + increment;
  w -= m;
}

}  // namespace stoker::kernels
