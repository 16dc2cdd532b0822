// Element-wise activations. Each type has
//   forward(x)                 the activation
//   gradient(x)                its derivative at x
//   gradient_from_output(y)    the same, where it follows from y = forward(x)
// At a kink the derivative is that of the branch below, as TensorFlow's. Stateless, hence thread-safe.
#pragma once

#include "lib/kernels/vector_math.h"

namespace stoker::kernels {

struct Linear {
  STOKER_KERNEL float forward(float x) const { return x; }
  STOKER_KERNEL float gradient(float) const { return 1.0f; }
  STOKER_KERNEL float gradient_from_output(float) const { return 1.0f; }
};

// max(x, 0), the common case of Relu; NaN stays NaN.
struct PlainRelu {
  STOKER_KERNEL float forward(float x) const { return x <= 0.0f ? 0.0f : x; }
  STOKER_KERNEL float gradient(float x) const { return x > 0.0f ? 1.0f : 0.0f; }
  STOKER_KERNEL float gradient_from_output(float y) const { return y > 0.0f ? 1.0f : 0.0f; }
};

// x ≥ max_value: max_value; x > threshold: x; else alpha·(x − threshold).
struct Relu {
  float alpha, max_value, threshold;
  STOKER_KERNEL float forward(float x) const {
    return x >= max_value ? max_value : (x > threshold ? x : alpha * (x - threshold));
  }
  STOKER_KERNEL float gradient(float x) const {
    return x >= max_value ? 0.0f : (x > threshold ? 1.0f : alpha);
  }
  // For alpha ≥ 0 and threshold ≥ 0, where y > threshold exactly when x > threshold.
  STOKER_KERNEL float gradient_from_output(float y) const { return gradient(y); }
};

struct Elu {
  float alpha;
  STOKER_KERNEL float forward(float x) const { return x > 0.0f ? x : alpha * exponential_m1(x); }
  STOKER_KERNEL float gradient(float x) const { return x > 0.0f ? 1.0f : alpha * exponential(x); }
  // alpha·eˣ = y + alpha, for alpha ≥ 0.
  STOKER_KERNEL float gradient_from_output(float y) const { return y > 0.0f ? 1.0f : y + alpha; }
};

struct Selu {
  static constexpr float kScale = 1.05070098f, kAlpha = 1.67326324f;
  STOKER_KERNEL float forward(float x) const { return kScale * (x > 0.0f ? x : kAlpha * exponential_m1(x)); }
  STOKER_KERNEL float gradient(float x) const { return kScale * (x > 0.0f ? 1.0f : kAlpha * exponential(x)); }
  STOKER_KERNEL float gradient_from_output(float y) const { return y > 0.0f ? kScale : y + kScale * kAlpha; }
};

// x·Φ(x).
struct Gelu {
  STOKER_KERNEL float forward(float x) const { return 0.5f * x * (1.0f + error_function(x * 0.70710678f)); }
  STOKER_KERNEL float gradient(float x) const {
    const float density = 0.39894228f * exponential(-0.5f * x * x);
    return 0.5f * (1.0f + error_function(x * 0.70710678f)) + x * density;
  }
};

// ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
struct GeluTanh {
  static constexpr float kRoot = 0.79788456f, kCubic = 0.044715f;
  STOKER_KERNEL float forward(float x) const {
    return 0.5f * x * (1.0f + hyperbolic_tangent(kRoot * (x + kCubic * x * x * x)));
  }
  STOKER_KERNEL float gradient(float x) const {
    const float t = hyperbolic_tangent(kRoot * (x + kCubic * x * x * x));
    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * kRoot * (1.0f + 3.0f * kCubic * x * x);
  }
};

struct Silu {
  STOKER_KERNEL float forward(float x) const { return x * sigmoid(x); }
  STOKER_KERNEL float gradient(float x) const {
    const float s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
  }
};

struct Sigmoid {
  STOKER_KERNEL float forward(float x) const { return sigmoid(x); }
  STOKER_KERNEL float gradient(float x) const { return gradient_from_output(sigmoid(x)); }
  STOKER_KERNEL float gradient_from_output(float y) const { return y * (1.0f - y); }
};

// clip(slope·x + ½, 0, 1): slope 1/6 is Keras 3's hard sigmoid, 0.2 that of Keras 2.
struct HardSigmoid {
  float slope;
  STOKER_KERNEL float forward(float x) const {
    const float y = slope * x + 0.5f;
    return y <= 0.0f ? 0.0f : (y >= 1.0f ? 1.0f : y);
  }
  STOKER_KERNEL float gradient(float x) const { return gradient_from_output(forward(x)); }
  STOKER_KERNEL float gradient_from_output(float y) const { return y > 0.0f && y < 1.0f ? slope : 0.0f; }
};

struct Tanh {
  STOKER_KERNEL float forward(float x) const { return hyperbolic_tangent(x); }
  STOKER_KERNEL float gradient(float x) const { return gradient_from_output(hyperbolic_tangent(x)); }
  STOKER_KERNEL float gradient_from_output(float y) const { return 1.0f - y * y; }
};

struct Softplus {
  STOKER_KERNEL float forward(float x) const { return softplus(x); }
  STOKER_KERNEL float gradient(float x) const { return sigmoid(x); }
  STOKER_KERNEL float gradient_from_output(float y) const { return -exponential_m1(-y); }
};

// x / (1 + |x|).
struct Softsign {
  STOKER_KERNEL float forward(float x) const { return x / (1.0f + absolute(x)); }
  STOKER_KERNEL float gradient(float x) const {
    const float d = 1.0f + absolute(x);
    return 1.0f / (d * d);
  }
  STOKER_KERNEL float gradient_from_output(float y) const {
    const float d = 1.0f - absolute(y);
    return d * d;
  }
};

struct Exponential {
  STOKER_KERNEL float forward(float x) const { return exponential(x); }
  STOKER_KERNEL float gradient(float x) const { return exponential(x); }
  STOKER_KERNEL float gradient_from_output(float y) const { return y; }
};

// x·tanh(ln(1 + eˣ)).
struct Mish {
  STOKER_KERNEL float forward(float x) const { return x * hyperbolic_tangent(softplus(x)); }
  STOKER_KERNEL float gradient(float x) const {
    const float t = hyperbolic_tangent(softplus(x));
    return t + x * (1.0f - t * t) * sigmoid(x);
  }
};

}  // namespace stoker::kernels
