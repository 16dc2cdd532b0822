// Every optimizer, schedule, regulariser and constraint against Keras 3, update by update
// (tests/golden/fixtures/ optimizers.json, written by tests/golden/make_optimizer_golden.py).
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>

#include "lib/base/files.h"
#include "lib/optim/optimizer.h"

namespace stoker::optim {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json value = [] {
    const char* const source = std::getenv("srcdir");
    return nlohmann::json::parse(
        read_file(std::string(source == nullptr ? "." : source) + "/tests/golden/fixtures/optimizers.json"));
  }();
  return value;
}

// The fixture's weights, one after another, with the attachments of a case.
std::vector<ParameterRange> ranges_of(const nlohmann::json& test_case) {
  std::vector<ParameterRange> ranges;
  std::int64_t offset = 0;
  for (const auto& entry : golden()["shapes"]) {
    ParameterRange range;
    range.name = entry[0];
    range.shape = entry[1].get<std::vector<std::int64_t>>();
    range.offset = offset;
    range.size =
        std::accumulate(range.shape.begin(), range.shape.end(), std::int64_t{1}, std::multiplies<>());
    offset += range.size;
    if (range.name == "kernel") {
      range.regularizer = regularizer_from_keras(test_case["regularizer"], "fixture");
      range.constraint = constraint_from_keras(test_case["kernel_constraint"], "fixture");
    }
    if (range.name == "filters")
      range.constraint = constraint_from_keras(test_case["filters_constraint"], "fixture");
    ranges.push_back(range);
  }
  return ranges;
}

// Within 1e-6 of `scale`. For a weight that is the largest value it has had: rounding of then stays in it
// when it passes near zero.
void expect_near(double got, double expected, double scale, const std::string& what) {
  EXPECT_LE(std::fabs(got - expected), 1e-6 * scale) << what << ": " << got << " for " << expected;
}

void check_case(const std::string& name, const nlohmann::json& test_case, const OptimizerChoice& choice) {
  const std::vector<ParameterRange> ranges = ranges_of(test_case);
  std::vector<float> weights = golden()["weights"].get<std::vector<float>>();
  std::vector<std::vector<float>> slots(static_cast<std::size_t>(choice.optimizer->slot_count()),
                                        std::vector<float>(weights.size()));
  std::vector<float*> slot_pointers;
  for (auto& slot : slots) slot_pointers.push_back(slot.data());
  const Schedule schedule = choice.schedule.value_or(Schedule::constant(choice.learning_rate));
  const auto rates = test_case["learning_rate"].get<std::vector<double>>();
  const double largest_rate = *std::max_element(rates.begin(), rates.end());
  std::vector<double> largest;
  for (const float weight : weights) largest.push_back(std::fabs(weight));
  const std::size_t steps = golden()["gradients"].size();
  ASSERT_GE(steps, 10U);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::string at = name + ", step " + std::to_string(step);
    const std::vector<float> gradients = golden()["gradients"][step].get<std::vector<float>>();
    const float rate = schedule.learning_rate(static_cast<std::int64_t>(step));
    expect_near(rate, rates[step], largest_rate, at + ", learning rate");
    const double penalty = test_case["regularization_loss"][step];
    expect_near(regularization_loss(ranges, weights.data()), penalty, penalty, at + ", penalty");
    choice.optimizer->update(static_cast<std::int64_t>(step), rate, ranges, weights.data(), gradients.data(),
                             slot_pointers);
    const std::vector<double> expected = test_case["weights"][step].get<std::vector<double>>();
    ASSERT_EQ(expected.size(), weights.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      largest[i] = std::max(largest[i], std::fabs(expected[i]));
      expect_near(weights[i], expected[i], largest[i], at + ", weight " + std::to_string(i));
    }
  }
}

class OptimizerGolden : public testing::TestWithParam<std::string> {};

TEST_P(OptimizerGolden, FollowsKeras) {
  const nlohmann::json& test_case = golden()["cases"][GetParam()];
  check_case(GetParam(), test_case, optimizer_from_keras(test_case["optimizer"], "fixture"));
}

// The same through the command line's spelling: describe() is read by optimizer_from_options().
TEST_P(OptimizerGolden, DescriptionMakesTheSameOptimizer) {
  const nlohmann::json& test_case = golden()["cases"][GetParam()];
  const OptimizerChoice original = optimizer_from_keras(test_case["optimizer"], "fixture");
  OptimizerChoice copy =
      optimizer_from_options(parse_named_options(original.optimizer->describe(), "--optimizer"));
  EXPECT_EQ(copy.optimizer->describe(), original.optimizer->describe());
  copy.learning_rate = original.learning_rate;
  if (original.schedule) {
    copy.schedule = parse_schedule(original.schedule->describe(), 123, 456);
    EXPECT_EQ(copy.schedule->describe(), original.schedule->describe());
  }
  check_case(GetParam(), test_case, copy);
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& [name, test_case] : golden()["cases"].items()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Cases, OptimizerGolden, testing::ValuesIn(case_names()),
                         [](const auto& parameter) { return parameter.param; });

TEST(OptimizerGolden, TheKeras2SpellingIsReadAlike) {
  ASSERT_FALSE(golden()["keras2_spellings"].empty());
  for (const auto& [name, config] : golden()["keras2_spellings"].items())
    check_case(name, golden()["cases"][name], optimizer_from_keras(config, "fixture"));
}

TEST(OptimizerGolden, FrozenRangesStay) {
  std::vector<ParameterRange> ranges = ranges_of(golden()["cases"]["max_norm"]);
  for (ParameterRange& range : ranges) range.trainable = false;
  ranges[0].regularizer = {0.1F, 0.1F};
  const std::vector<float> before = golden()["weights"].get<std::vector<float>>();
  std::vector<float> weights = before;
  const auto choice = optimizer_from_options({"sgd", {{"weight_decay", "0.1"}, {"global_clipnorm", "1"}}});
  choice.optimizer->update(0, 0.1F, ranges, weights.data(), before.data(), {});
  EXPECT_EQ(weights, before);
  EXPECT_EQ(regularization_loss(ranges, weights.data()), 0);
}

// Several chunks and groups of chunks, ranges of odd sizes.
std::vector<float> train_large(const NamedOptions& options, int threads, double* norm) {
  omp_set_num_threads(threads);
  const std::vector<std::int64_t> sizes{3, 1500001, 4096, 5, 70000};
  std::vector<ParameterRange> ranges;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    ParameterRange range;
    range.offset = total;
    range.size = size;
    range.shape = {size};
    range.regularizer = {1e-3F, 1e-2F};
    ranges.push_back(range);
    total += size;
  }
  ranges[3].constraint = {Constraint::Kind::max_norm, 0, 0.1F, 1, {0}};
  const auto count = static_cast<std::size_t>(total);
  std::vector<float> weights(count), gradients(count);
  const OptimizerChoice choice = optimizer_from_options(options);
  std::vector<std::vector<float>> slots(static_cast<std::size_t>(choice.optimizer->slot_count()),
                                        std::vector<float>(count));
  std::vector<float*> pointers;
  for (auto& slot : slots) pointers.push_back(slot.data());
  for (std::size_t i = 0; i < count; ++i) weights[i] = std::sin(static_cast<float>(i % 100003));
  for (int step = 0; step < 2; ++step) {
    for (std::size_t i = 0; i < count; ++i)
      gradients[i] = std::cos(static_cast<float>((i + static_cast<std::size_t>(step)) % 70001));
    choice.optimizer->update(step, 0.01F, ranges, weights.data(), gradients.data(), pointers);
  }
  *norm = regularization_loss(ranges, weights.data()) + sum_of_squares(weights.data(), total);
  return weights;
}

TEST(Optimizer, BitsDoNotDependOnTheNumberOfThreads) {
  for (const NamedOptions& options :
       std::vector<NamedOptions>{{"sgd", {{"momentum", "0.9"}, {"global_clipnorm", "1"}}},
                                 {"adam", {{"clipnorm", "0.5"}, {"weight_decay", "0.01"}}}}) {
    double norm1 = 0, norm = 0;
    const std::vector<float> expected = train_large(options, 1, &norm1);
    for (const int threads : {2, 3}) {
      EXPECT_EQ(train_large(options, threads, &norm), expected) << threads;
      EXPECT_EQ(norm, norm1) << threads;
    }
  }
  omp_set_num_threads(1);
}

TEST(Optimizer, ReturnsTheGlobalNormBeforeClipping) {
  ParameterRange range;
  range.size = 2;
  range.shape = {2};
  float weights[] = {0, 0};
  const float gradients[] = {3, 4};
  const auto clipping = optimizer_from_options({"sgd", {}}, 1.0);
  EXPECT_EQ(clipping.optimizer->update(0, 1, {&range, 1}, weights, gradients, {}), 5.0);
  EXPECT_FLOAT_EQ(weights[0], -0.6F);
  const auto plain = optimizer_from_options({"sgd", {}});
  EXPECT_FALSE(plain.optimizer->update(0, 1, {&range, 1}, weights, gradients, {}).has_value());
  const float broken[] = {INFINITY, 0};
  clipping.optimizer->update(0, 1, {&range, 1}, weights, broken, {});
  EXPECT_TRUE(std::isnan(weights[1]));  // as in Keras: it must be seen
}

}  // namespace
}  // namespace stoker::optim
