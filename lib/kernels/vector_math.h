// Elementary functions in fp32 without branches, tables or library calls, so that a loop over them vectorises
// on every instruction set and the same source runs on a device. Errors are within 2 ulp of the true value
// (tests/unit/backend/vector_math_test.cpp); infinities and NaN go where the C functions send them.
//
// The coefficients are minimax fits (Lawson's iterated least squares) to the function named, made for this
// file. Stateless, hence thread-safe.
#pragma once

#include <cstdint>

#include "lib/kernels/kernel.h"

namespace stoker::kernels {

STOKER_KERNEL std::uint32_t bits_of(float x) {
  std::uint32_t u;
  __builtin_memcpy(&u, &x, sizeof u);
  return u;
}
STOKER_KERNEL float float_of(std::uint32_t u) {
  float x;
  __builtin_memcpy(&x, &u, sizeof x);
  return x;
}
STOKER_KERNEL float absolute(float x) { return float_of(bits_of(x) & 0x7fffffffu); }
STOKER_KERNEL float copy_sign(float magnitude, float sign) {
  return float_of((bits_of(magnitude) & 0x7fffffffu) | (bits_of(sign) & 0x80000000u));
}
// NaN in either argument gives NaN, unlike fmaxf.
STOKER_KERNEL float maximum(float a, float b) { return a > b || a != a ? a : b; }
STOKER_KERNEL float minimum(float a, float b) { return a < b || a != a ? a : b; }

// eˣ. x = n·ln 2 + r, |r| ≤ ln 2 / 2; eʳ − 1 − r = r²·P(r). The scaling by 2ⁿ is done in two halves, so
// that results overflow to infinity and underflow through the subnormals.
STOKER_KERNEL float exponential(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5·2²³: adding it leaves the nearest integer in the low bits
  const float clamped = x > 89.0f ? 89.0f : (x < -104.0f ? -104.0f : x);
  const float shifted = clamped * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693359375f) - n * -2.12194440e-4f;  // ln 2 in two parts
  float p = 1.381446475e-3f;
  p = p * r + 8.368780622e-3f;
  p = p * r + 4.166839426e-2f;
  p = p * r + 1.666652011e-1f;
  p = p * r + 4.999999341e-1f;
  p = p * (r * r) + r + 1.0f;
  const std::uint32_t integer = bits_of(shifted) - bits_of(kRound);  // n as a two's complement
  const std::uint32_t half = (integer + 256u) / 2u - 128u;           // ⌊n / 2⌋ for n ≥ −256
  const float scale0 = float_of((half + 127u) << 23);
  const float scale1 = float_of((integer - half + 127u) << 23);
  return p * scale0 * scale1;
}

// ln x. x = 2ⁿ·(1 + f), 1 + f in [√½, √2): ln(1 + f) = f − f²/2 + f³·P(f). 0 gives −∞, negatives NaN.
STOKER_KERNEL float logarithm(float x) {
  const bool subnormal = x < 1.17549435e-38f;
  const std::uint32_t u = bits_of(subnormal ? x * 8388608.0f : x);
  const std::uint32_t offset = u - 0x3f3504f3u;  // √½
  const std::int32_t n = static_cast<std::int32_t>(offset) >> 23;
  const float f = float_of((offset & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
  float p = 6.746601324e-2f;
  p = p * f - 1.167564130e-1f;
  p = p * f + 1.188817460e-1f;
  p = p * f - 1.240559142e-1f;
  p = p * f + 1.421955091e-1f;
  p = p * f - 1.666799567e-1f;
  p = p * f + 2.000211873e-1f;
  p = p * f - 2.500000960e-1f;
  p = p * f + 3.333331260e-1f;
  const float exponent = static_cast<float>(n) - (subnormal ? 23.0f : 0.0f);
  const float square = f * f;
  float y = p * (square * f) + exponent * -2.12194440e-4f;
  y = y - 0.5f * square + f + exponent * 0.693359375f;
  y = x == __builtin_inff() ? x : y;
  y = x == 0.0f ? -__builtin_inff() : y;
  return x < 0.0f || x != x ? __builtin_nanf("") : y;
}

// ln(1 + x) for x ≥ 0; the quotient undoes the rounding of 1 + x.
STOKER_KERNEL float logarithm_1p(float x) {
  const float w = 1.0f + x;
  const float excess = w - 1.0f;
  const float y = logarithm(w) * (x / (excess == 0.0f ? 1.0f : excess));
  return excess == 0.0f ? x : (x == __builtin_inff() ? x : y);
}

// tanh x: x + x³·P(x²) below 0.625, else 1 − 2 / (e^{2|x|} + 1).
STOKER_KERNEL float hyperbolic_tangent(float x) {
  const float a = absolute(x), s = x * x;
  float p = -5.666980323e-3f;
  p = p * s + 2.060617990e-2f;
  p = p * s - 5.373000829e-2f;
  p = p * s + 1.333133102e-1f;
  p = p * s - 3.333327806e-1f;
  const float small = p * s * x + x;
  const float large = copy_sign(1.0f - 2.0f / (exponential(2.0f * a) + 1.0f), x);
  return a < 0.625f ? small : (x != x ? x : large);
}

// eˣ − 1. Near 0 by t = tanh(x / 2): 2t / (1 − t), elsewhere by the difference.
STOKER_KERNEL float exponential_m1(float x) {
  const float t = hyperbolic_tangent(0.5f * x);
  const float small = 2.0f * t / (1.0f - t);
  return absolute(x) < 0.5f ? small : exponential(x) - 1.0f;
}

// 1 / (1 + e⁻ˣ), from e^{−|x|}: no overflow, and small results keep their digits.
STOKER_KERNEL float sigmoid(float x) {
  const float e = exponential(-absolute(x));
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

// ln(1 + eˣ).
STOKER_KERNEL float softplus(float x) {
  return (x > 0.0f ? x : 0.0f) + logarithm_1p(exponential(-absolute(x))) + (x != x ? x : 0.0f);
}

// erf x: x·P(x²) below 0.925, else 1 − e^{−Q(|x|)}, Q fitted to −ln erfc; 1 in fp32 from |x| = 4 on.
STOKER_KERNEL float error_function(float x) {
  const float s = x * x;
  float p = 8.316908896e-5f;
  p = p * s - 8.130050499e-4f;
  p = p * s + 5.199910791e-3f;
  p = p * s - 2.685894367e-2f;
  p = p * s + 1.128368724e-1f;
  p = p * s - 3.761263319e-1f;
  p = p * s + 1.128379167f;
  const float t = absolute(x) < 4.0f ? absolute(x) : 4.0f;
  float q = 2.109505144e-5f;
  q = q * t - 4.344626296e-4f;
  q = q * t + 4.171063091e-3f;
  q = q * t - 2.511942754e-2f;
  q = q * t + 1.082800896e-1f;
  q = q * t + 6.333469062e-1f;
  q = q * t + 1.129514931f;
  q = q * t - 1.746844480e-4f;
  const float large = copy_sign(1.0f - exponential(-q), x);
  return x != x ? x : (absolute(x) < 0.925f ? p * x : large);
}

}  // namespace stoker::kernels
