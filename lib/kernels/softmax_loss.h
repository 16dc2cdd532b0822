// Softmax and the losses, a row at a time: `c` values of one sample or position.
//
// Numerics: the maximum is subtracted before exponentials, so logits of thousands stay finite; a NaN or
// infinite logit gives NaN. Probabilities are treated as Keras 3 does on TensorFlow (keras/src/backend/
// tensorflow/nn.py): clipped to [1e-7, 1 − 1e-7], with no gradient where the clip acts; the categorical
// cross-entropy divides by the row's sum before the clip, the sparse one after it.
// A loss row returns the row's loss; where d is not null it gets scale · ∂loss/∂prediction. Stateless, hence
// thread-safe.
#pragma once

#include <cstdint>

#include "lib/kernels/vector_math.h"

namespace stoker::kernels {

inline constexpr float kProbabilityFloor = 1e-7f;

STOKER_KERNEL float clip_probability(float p) {
  constexpr float kCeiling = 1.0f - kProbabilityFloor;
  return p < kProbabilityFloor ? kProbabilityFloor : (p > kCeiling ? kCeiling : p);
}
// 1 where the clip passes its argument, else 0.
STOKER_KERNEL float clip_passes(float p) {
  return p < kProbabilityFloor || p > 1.0f - kProbabilityFloor ? 0.0f : 1.0f;
}

STOKER_KERNEL float row_maximum(const float* x, std::int64_t c) {
  float m = x[0];
#pragma omp simd reduction(max : m)
  for (std::int64_t i = 0; i < c; ++i) m = x[i] > m ? x[i] : m;
  return m;
}

STOKER_KERNEL float row_sum(const float* x, std::int64_t c) {
  float s = 0.0f;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < c; ++i) s += x[i];
  return s;
}

// y may be x.
STOKER_KERNEL void softmax_row(const float* x, float* y, std::int64_t c) {
  const float m = row_maximum(x, c);
  float s = 0.0f;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < c; ++i) {
    y[i] = exponential(x[i] - m);
    s += y[i];
  }
  const float inverse = 1.0f / s;
#pragma omp simd
  for (std::int64_t i = 0; i < c; ++i) y[i] *= inverse;
}

// dx = y·(dy − Σ dy·y); dx may be dy or y.
STOKER_KERNEL void softmax_gradient_row(const float* dy, const float* y, float* dx, std::int64_t c) {
  float s = 0.0f;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < c; ++i) s += dy[i] * y[i];
#pragma omp simd
  for (std::int64_t i = 0; i < c; ++i) dx[i] = y[i] * (dy[i] - s);
}

// ln Σ eᶻ in two parts, maximum and ln Σ e^{z − maximum}: a loss subtracts a logit from the first.
struct LogSumExp {
  float maximum, log_sum, sum;
};
STOKER_KERNEL LogSumExp log_sum_exp(const float* z, std::int64_t c) {
  const float m = row_maximum(z, c);
  float s = 0.0f;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < c; ++i) s += exponential(z[i] - m);
  return {m, logarithm(s), s};
}

STOKER_KERNEL float invalid_label_row(float* d, std::int64_t c) {
  for (std::int64_t i = 0; d != nullptr && i < c; ++i) d[i] = __builtin_nanf("");
  return __builtin_nanf("");
}

// A label outside [0, c) gives NaN, in d too, and reads nothing.
STOKER_KERNEL float sparse_crossentropy_logits_row(const float* z, std::int32_t label, float* d,
                                                   std::int64_t c, float scale) {
  if (label < 0 || label >= c) return invalid_label_row(d, c);
  const LogSumExp l = log_sum_exp(z, c);
  const float loss = (l.maximum - z[label]) + l.log_sum;
  if (d != nullptr) {
    const float factor = scale / l.sum;
#pragma omp simd
    for (std::int64_t i = 0; i < c; ++i) d[i] = exponential(z[i] - l.maximum) * factor;
    d[label] -= scale;
  }
  return loss;
}

STOKER_KERNEL float sparse_crossentropy_row(const float* p, std::int32_t label, float* d, std::int64_t c,
                                            float scale) {
  if (label < 0 || label >= c) return invalid_label_row(d, c);
  float s = 0.0f;
#pragma omp simd reduction(+ : s)
  for (std::int64_t i = 0; i < c; ++i) s += clip_probability(p[i]);
  const float own = clip_probability(p[label]);
  if (d != nullptr) {
    const float factor = scale / s;
#pragma omp simd
    for (std::int64_t i = 0; i < c; ++i) d[i] = clip_passes(p[i]) * factor;
    d[label] -= clip_passes(p[label]) * scale / own;
  }
  return logarithm(s) - logarithm(own);
}

// What label smoothing makes of a target: t·(1 − smoothing) + smoothing / classes.
struct Smoothing {
  float keep, add;
  STOKER_KERNEL float operator()(float t) const { return t * keep + add; }
};

// d is that of targets that sum to 1, softmax − target, as TensorFlow's.
STOKER_KERNEL float categorical_crossentropy_logits_row(const float* z, const float* t, float* d,
                                                        std::int64_t c, Smoothing smooth, float scale) {
  const LogSumExp l = log_sum_exp(z, c);
  float loss = 0.0f;
#pragma omp simd reduction(+ : loss)
  for (std::int64_t i = 0; i < c; ++i) {
    const float target = smooth(t[i]);
    // A logit of −∞ with target 0 counts nothing.
    loss += target == 0.0f ? 0.0f : target * ((l.maximum - z[i]) + l.log_sum);
  }
  if (d != nullptr) {
    const float inverse = 1.0f / l.sum;
#pragma omp simd
    for (std::int64_t i = 0; i < c; ++i)
      d[i] = scale * (exponential(z[i] - l.maximum) * inverse - smooth(t[i]));
  }
  return loss + (l.sum - l.sum);  // NaN where the row's sum is not finite
}

STOKER_KERNEL float categorical_crossentropy_row(const float* p, const float* t, float* d, std::int64_t c,
                                                 Smoothing smooth, float scale) {
  const float inverse = 1.0f / row_sum(p, c);
  float loss = 0.0f, along = 0.0f;  // along: Σ g·q of the quotient q = p / Σp, g = −t/q
#pragma omp simd reduction(+ : loss, along)
  for (std::int64_t i = 0; i < c; ++i) {
    const float q = p[i] * inverse, clipped = clip_probability(q), target = smooth(t[i]);
    loss -= target * logarithm(clipped);
    along -= clip_passes(q) * target;
  }
  if (d != nullptr) {
    const float factor = scale * inverse;
#pragma omp simd
    for (std::int64_t i = 0; i < c; ++i) {
      const float q = p[i] * inverse;
      d[i] = factor * (-clip_passes(q) * smooth(t[i]) / clip_probability(q) - along);
    }
  }
  return loss;
}

// The element-wise losses: value(p, t) and its derivative by p.
struct BinaryCrossentropyLogits {
  Smoothing smooth;
  STOKER_KERNEL float value(float z, float t) const {
    return (z > 0.0f ? z : 0.0f) - z * smooth(t) + logarithm_1p(exponential(-absolute(z)));
  }
  STOKER_KERNEL float gradient(float z, float t) const { return sigmoid(z) - smooth(t); }
};
struct BinaryCrossentropy {
  Smoothing smooth;
  STOKER_KERNEL float value(float p, float t) const {
    const float q = clip_probability(p), target = smooth(t);
    return -(target * logarithm(q) + (1.0f - target) * logarithm(1.0f - q));
  }
  STOKER_KERNEL float gradient(float p, float t) const {
    const float q = clip_probability(p), target = smooth(t);
    return clip_passes(p) * ((1.0f - target) / (1.0f - q) - target / q);
  }
};
struct SquaredError {
  STOKER_KERNEL float value(float p, float t) const { return (p - t) * (p - t); }
  STOKER_KERNEL float gradient(float p, float t) const { return 2.0f * (p - t); }
};
struct AbsoluteError {
  STOKER_KERNEL float value(float p, float t) const { return absolute(p - t); }
  STOKER_KERNEL float gradient(float p, float t) const {
    const float e = p - t;
    return e > 0.0f ? 1.0f : (e < 0.0f ? -1.0f : e);  // NaN stays NaN
  }
};
// ½·e² up to |e| = delta, then linear.
struct Huber {
  float delta;
  STOKER_KERNEL float value(float p, float t) const {
    const float e = absolute(p - t);
    return e <= delta ? 0.5f * e * e : delta * e - 0.5f * delta * delta;
  }
  STOKER_KERNEL float gradient(float p, float t) const {
    const float e = p - t;
    return absolute(e) <= delta ? e : (e > 0.0f ? delta : (e < 0.0f ? -delta : e));
  }
};

// Index of the first maximum.
STOKER_KERNEL std::int64_t argmax_row(const float* x, std::int64_t c) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < c; ++i)
    if (x[i] > x[best]) best = i;
  return best;
}

// Whether fewer than k classes are above `label`'s prediction; false where that prediction is not finite, as
// tf.math.in_top_k.
STOKER_KERNEL bool in_top_k_row(const float* x, std::int64_t label, std::int64_t k, std::int64_t c) {
  if (label < 0 || label >= c || !(absolute(x[label]) < __builtin_inff())) return false;
  std::int64_t above = 0;
  for (std::int64_t i = 0; i < c; ++i) above += x[i] > x[label];
  return above < k;
}

}  // namespace stoker::kernels
