#include "lib/keras/layers/initializers.h"

#include <algorithm>
#include <cmath>

#include "tests/unit/keras_layers/layer_testing.h"

namespace stoker::keras {
namespace {

Initializer named(const std::string& name, const nlohmann::json& options = nlohmann::json::object()) {
  Initializer initializer{name, default_initializer_config(name)};
  initializer.config.update(options);
  return initializer;
}

struct Moments {
  double mean = 0, deviation = 0, kurtosis = 0, low = 0, high = 0;
};

Moments moments_of(const std::vector<float>& w) {
  Moments m;
  const double n = static_cast<double>(w.size());
  for (const float x : w) m.mean += x / n;
  double fourth = 0, second = 0;
  for (const float x : w) {
    second += std::pow(x - m.mean, 2) / n;
    fourth += std::pow(x - m.mean, 4) / n;
  }
  m.deviation = std::sqrt(second);
  m.kurtosis = fourth / (second * second);
  m.low = *std::min_element(w.begin(), w.end());
  m.high = *std::max_element(w.begin(), w.end());
  return m;
}

// 240 × 250 = 60,000 draws: a standard deviation is known to 0.3 %, a mean to 0.4 % of one.
const Shape kMatrix{240, 250};

// Expected standard deviation; kurtosis 1.8 is a uniform, 3 a normal, 2.37 a normal cut at ±2.
void expect_distribution(const Initializer& initializer, const Shape& shape, double deviation,
                         double kurtosis) {
  const Moments m = moments_of(initialize(initializer, shape, 7, 3));
  EXPECT_NEAR(m.deviation, deviation, 0.015 * deviation) << initializer.name;
  EXPECT_NEAR(m.mean, 0, 0.02 * deviation) << initializer.name;
  EXPECT_NEAR(m.kurtosis, kurtosis, 0.06 * kurtosis) << initializer.name;
}

TEST(Initializers, VarianceScalingHasTheVarianceThatKerasStates) {
  constexpr double kUniform = 1.8, kNormal = 3.0, kCut = 2.37;
  expect_distribution(named("GlorotUniform"), kMatrix, std::sqrt(2.0 / 490), kUniform);
  expect_distribution(named("GlorotNormal"), kMatrix, std::sqrt(2.0 / 490), kCut);
  expect_distribution(named("HeUniform"), kMatrix, std::sqrt(2.0 / 240), kUniform);
  expect_distribution(named("HeNormal"), kMatrix, std::sqrt(2.0 / 240), kCut);
  expect_distribution(named("LecunUniform"), kMatrix, std::sqrt(1.0 / 240), kUniform);
  expect_distribution(named("LecunNormal"), kMatrix, std::sqrt(1.0 / 240), kCut);
  expect_distribution(named("VarianceScaling"), kMatrix, std::sqrt(1.0 / 240), kCut);
  expect_distribution(
      named("VarianceScaling", {{"scale", 3.0}, {"mode", "fan_out"}, {"distribution", "untruncated_normal"}}),
      kMatrix, std::sqrt(3.0 / 250), kNormal);
  expect_distribution(named("RandomNormal", {{"stddev", 0.1}}), kMatrix, 0.1, kNormal);
  // A named TruncatedNormal is not widened: its deviation is 0.8796 of what the config says.
  expect_distribution(named("TruncatedNormal", {{"stddev", 0.1}}), kMatrix, 0.0879626, kCut);
  expect_distribution(named("RandomUniform"), kMatrix, 0.1 / std::sqrt(12.0), kUniform);
}

TEST(Initializers, FansOfAKernelAreTheReceptiveFieldTimesItsLastTwoAxes) {
  expect_distribution(named("HeNormal"), {3, 3, 64, 96}, std::sqrt(2.0 / (9 * 64)), 2.37);
  expect_distribution(named("GlorotUniform"), {5, 5, 512, 4}, std::sqrt(2.0 / (25 * 512 + 25 * 4)), 1.8);
}

TEST(Initializers, LimitsHold) {
  const Moments uniform = moments_of(initialize(named("GlorotUniform"), kMatrix, 1, 1));
  EXPECT_LE(std::max(-uniform.low, uniform.high), std::sqrt(6.0 / 490));
  EXPECT_GE(uniform.high, 0.999 * std::sqrt(6.0 / 490));
  const Moments cut = moments_of(initialize(named("TruncatedNormal", {{"mean", 1.0}}), kMatrix, 1, 1));
  EXPECT_NEAR(cut.low, 0.9, 1e-4);
  EXPECT_NEAR(cut.high, 1.1, 1e-4);
  const Moments shifted =
      moments_of(initialize(named("RandomUniform", {{"minval", 2.0}, {"maxval", 3.0}}), kMatrix, 1, 1));
  EXPECT_GE(shifted.low, 2.0);
  EXPECT_LE(shifted.high, 3.0);
  EXPECT_NEAR(shifted.mean, 2.5, 0.01);
}

TEST(Initializers, Constants) {
  EXPECT_EQ(initialize(named("Zeros"), {3}, 1, 1), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(initialize(named("Ones"), {2}, 1, 1), (std::vector<float>{1, 1}));
  EXPECT_EQ(initialize(named("Constant", {{"value", 0.5}}), {2}, 1, 1), (std::vector<float>{0.5, 0.5}));
  EXPECT_EQ(initialize(named("Identity", {{"gain", 2.0}}), {2, 3}, 1, 1),
            (std::vector<float>{2, 0, 0, 0, 2, 0}));
}

// Columns (or rows, if there are fewer of them) are orthogonal and of length gain.
TEST(Initializers, OrthogonalIsOrthogonal) {
  for (const Shape& shape : {Shape{12, 5}, Shape{5, 12}, Shape{2, 2, 3, 7}, Shape{8, 8}}) {
    const auto w = initialize(named("Orthogonal", {{"gain", 2.0}}), shape, 5, 9);
    const std::size_t out = static_cast<std::size_t>(shape.back()), in = w.size() / out;
    const bool columns = out <= in;
    for (std::size_t a = 0; a < std::min(in, out); ++a) {
      for (std::size_t b = 0; b < std::min(in, out); ++b) {
        double dot = 0;
        for (std::size_t k = 0; k < std::max(in, out); ++k) {
          dot += columns ? double{w[k * out + a]} * w[k * out + b] : double{w[a * out + k]} * w[b * out + k];
        }
        EXPECT_NEAR(dot, a == b ? 4.0 : 0.0, 1e-5) << to_string(shape);
      }
    }
  }
}

TEST(Initializers, DrawsDependOnSeedAndKeyOnly) {
  const auto a = initialize(named("HeNormal"), {30, 3}, 1, 2);
  EXPECT_EQ(a, initialize(named("HeNormal"), {30, 3}, 1, 2));
  EXPECT_NE(a, initialize(named("HeNormal"), {30, 3}, 2, 2));
  EXPECT_NE(a, initialize(named("HeNormal"), {30, 3}, 1, 3));
}

TEST(Initializers, NeighboursAreIndependent) {
  for (const char* name : {"RandomNormal", "RandomUniform", "TruncatedNormal"}) {
    const auto w = initialize(named(name), kMatrix, 1, 2);
    for (const std::size_t lag : {1, 2, 3, 4, 250}) {
      double product = 0, square = 0;
      for (std::size_t i = lag; i < w.size(); ++i) {
        product += double{w[i]} * w[i - lag];
        square += double{w[i]} * w[i];
      }
      EXPECT_NEAR(product / square, 0, 0.02) << name << " lag " << lag;
    }
  }
}

TEST(Initializers, AllSpellingsAreKnown) {
  EXPECT_EQ(initializer_name("glorot_uniform"), "GlorotUniform");
  EXPECT_EQ(initializer_name("GlorotUniform"), "GlorotUniform");
  EXPECT_EQ(initializer_name("he_normal"), "HeNormal");
  EXPECT_EQ(initializer_name("zeros"), "Zeros");
  EXPECT_EQ(initializer_name("random_normal"), "RandomNormal");
  EXPECT_EQ(initializer_name("IdentityInitializer"), "Identity");
  EXPECT_EQ(initializer_name("STFT"), std::nullopt);
}

TEST(Initializers, BadOptionsAreRefused) {
  const auto dense = [](const nlohmann::json& initializer) {
    return make_error("Dense", {{"units", 2}, {"kernel_initializer", initializer}});
  };
  EXPECT_TRUE(
      contains(dense("my_own"), "unsupported value kernel_initializer=\"my_own\": m.json: layer l (Dense)"));
  EXPECT_TRUE(contains(dense({{"class_name", "RandomNormal"}, {"config", {{"stddev", -1}}}}),
                       "kernel_initializer.stddev=-1"));
  EXPECT_TRUE(contains(dense({{"class_name", "VarianceScaling"}, {"config", {{"mode", "fan"}}}}),
                       "kernel_initializer.mode=\"fan\""));
  EXPECT_TRUE(
      contains(dense({{"class_name", "HeNormal"}, {"config", {{"gain", 2}}}}), "kernel_initializer.gain=2"));
  EXPECT_EQ(dense({{"class_name", "HeNormal"},
                   {"config", {{"seed", 3}, {"input_axes", nullptr}, {"output_axes", nullptr}}}}),
            "");
}

TEST(Initializers, IdentityAndOrthogonalNeedAMatrix) {
  auto layer = make("Dense", {{"units", 2}, {"bias_initializer", "orthogonal"}});
  EXPECT_TRUE(
      contains(error_of([&] { build(*layer, {{3}}); }), "Orthogonal for a weight of shape (2,), bias"));
}

}  // namespace
}  // namespace stoker::keras
