// Errors of the elementary functions, in units of the last place of the true value.
#include "lib/kernels/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "lib/base/philox.h"
#include "lib/graph/random.h"
#include "lib/kernels/philox_blocks.h"

namespace stoker::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double error_in_ulp(float got, double truth) {
  const float rounded = static_cast<float>(truth);
  const double unit = static_cast<double>(std::nextafter(std::abs(rounded), kInfinity)) -
                      static_cast<double>(std::abs(rounded));
  return std::abs(static_cast<double>(got) - truth) / unit;
}

double worst(const std::function<float(float)>& f, const std::function<double(double)>& truth, float from,
             float to) {
  double largest = 0;
  constexpr int kSteps = 200003;
  for (int i = 0; i <= kSteps; ++i) {
    const float x = from + (to - from) * static_cast<float>(i) / kSteps;
    largest = std::max(largest, error_in_ulp(f(x), truth(static_cast<double>(x))));
  }
  return largest;
}

TEST(VectorMath, Exponential) {
  EXPECT_LT(worst([](float x) { return exponential(x); }, [](double x) { return std::exp(x); }, -87, 88.7f),
            2.0);
  EXPECT_EQ(exponential(0.0f), 1.0f);
  EXPECT_EQ(exponential(89.0f), kInfinity);
  EXPECT_EQ(exponential(kInfinity), kInfinity);
  EXPECT_EQ(exponential(-kInfinity), 0.0f);
  EXPECT_EQ(exponential(-1e30f), 0.0f);
  EXPECT_NEAR(exponential(-95.0f), std::exp(-95.0f), 3e-45f);
  EXPECT_TRUE(std::isnan(exponential(NAN)));
}

TEST(VectorMath, Logarithm) {
  const auto f = [](float x) { return logarithm(x); };
  const auto truth = [](double x) { return std::log(x); };
  EXPECT_LT(worst(f, truth, 1e-30f, 1e-3f), 2.0);
  EXPECT_LT(worst(f, truth, 1e-3f, 4.0f), 2.0);
  EXPECT_LT(worst(f, truth, 4.0f, 1e38f), 2.0);
  EXPECT_LT(error_in_ulp(logarithm(1e-40f), std::log(static_cast<double>(1e-40f))), 2.0);
  EXPECT_EQ(logarithm(1.0f), 0.0f);
  EXPECT_EQ(logarithm(0.0f), -kInfinity);
  EXPECT_EQ(logarithm(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(logarithm(-1.0f)));
  EXPECT_TRUE(std::isnan(logarithm(NAN)));
}

TEST(VectorMath, LogarithmOfOnePlus) {
  const auto f = [](float x) { return logarithm_1p(x); };
  const auto truth = [](double x) { return std::log1p(x); };
  EXPECT_LT(worst(f, truth, 0.0f, 1e-6f), 3.0);
  EXPECT_LT(worst(f, truth, 1e-6f, 1.0f), 3.0);
  EXPECT_EQ(logarithm_1p(kInfinity), kInfinity);
}

TEST(VectorMath, ExponentialMinusOne) {
  const auto f = [](float x) { return exponential_m1(x); };
  const auto truth = [](double x) { return std::expm1(x); };
  EXPECT_LT(worst(f, truth, -1.0f, 1.0f), 4.0);
  EXPECT_LT(worst(f, truth, -30.0f, 80.0f), 4.0);
  EXPECT_LT(worst(f, truth, 1e-12f, 1e-6f), 4.0);
}

TEST(VectorMath, HyperbolicTangent) {
  const auto f = [](float x) { return hyperbolic_tangent(x); };
  const auto truth = [](double x) { return std::tanh(x); };
  EXPECT_LT(worst(f, truth, -2.0f, 2.0f), 3.0);
  EXPECT_LT(worst(f, truth, -100.0f, 100.0f), 3.0);
  EXPECT_EQ(hyperbolic_tangent(kInfinity), 1.0f);
  EXPECT_EQ(hyperbolic_tangent(-kInfinity), -1.0f);
  EXPECT_TRUE(std::isnan(hyperbolic_tangent(NAN)));
}

TEST(VectorMath, ErrorFunction) {
  const auto f = [](float x) { return error_function(x); };
  const auto truth = [](double x) { return std::erf(x); };
  EXPECT_LT(worst(f, truth, -1.0f, 1.0f), 3.0);
  EXPECT_LT(worst(f, truth, -6.0f, 6.0f), 3.0);
  EXPECT_EQ(error_function(kInfinity), 1.0f);
  EXPECT_TRUE(std::isnan(error_function(NAN)));
}

TEST(VectorMath, SigmoidAndSoftplus) {
  EXPECT_LT(
      worst([](float x) { return sigmoid(x); }, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 80),
      4.0);
  EXPECT_LT(
      worst([](float x) { return softplus(x); }, [](double x) { return std::log1p(std::exp(x)); }, -80, 80),
      4.0);
  EXPECT_EQ(sigmoid(-kInfinity), 0.0f);
  EXPECT_EQ(softplus(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(softplus(NAN)));
  EXPECT_TRUE(std::isnan(sigmoid(NAN)));
}

TEST(PhiloxBlocks, AreThoseOfPhilox) {
  std::uint32_t words[32];
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xfffffffc}, std::uint64_t{1} << 40}) {
    philox_blocks<8>(0x123456789abcdefull, 0x44726F70ull, first, words);
    for (std::uint64_t i = 0; i < 32; ++i)
      EXPECT_EQ(words[i], graph::dropout_block(0x123456789abcdefull, first + i / 4).v[i % 4]);
  }
}

}  // namespace
}  // namespace stoker::kernels
