// Losses with their gradients, and metrics, against the reference interpreter; a gradient nobody computes.
#include <gtest/gtest.h>

#include "tests/unit/backend/program_harness.h"

namespace stoker::backend::cpu::test {
namespace {

using namespace graph;

bool is_sparse(LossKind kind) { return kind == LossKind::sparse_categorical_crossentropy; }

Shape labels_of(const Shape& prediction) {
  std::vector<std::int64_t> dims = prediction.dims();
  dims.pop_back();
  return Shape(dims);
}

// The prediction is parameter 0.
Graph loss_graph(const LossAttributes& loss, const Shape& shape) {
  GraphBuilder b(shape[0]);
  const ValueId x = b.parameter(0, shape, "prediction");
  const ValueId target =
      is_sparse(loss.kind) ? b.target(labels_of(shape), DType::i32) : b.target(shape, DType::f32);
  b.add_loss(loss, x, target, true);
  Graph g = b.finish();
  differentiate(g, {true});
  return g;
}

// Predictions in [0, 1] with some at 0 and at `top`; targets that sum to 1 a row.
void make_probabilities(Data& data, std::int64_t classes, float top) {
  for (std::size_t i = 0; i < data.parameters.size(); ++i) {
    data.parameters[i] = 0.5f + 0.5f * data.parameters[i];
    if (i % 7 == 3) data.parameters[i] = 0.0f;
    if (i % 11 == 5) data.parameters[i] = top;
  }
  const auto c = static_cast<std::size_t>(classes);
  for (std::size_t row = 0; row + c <= data.float_target.size(); row += c) {
    float sum = 0;
    for (std::size_t i = row; i < row + c; ++i)
      sum += data.float_target[i] = 0.51f + 0.5f * data.float_target[i];
    for (std::size_t i = row; i < row + c; ++i) data.float_target[i] /= sum;
  }
}

void expect_loss_agrees(const LossAttributes& loss, const Shape& shape) {
  const Graph g = loss_graph(loss, shape);
  const ParameterLayout layout = layout_of(g);
  Data data = random_data(g, layout, shape.back(), 31);
  // 1 − p has no digits near p = 1 in fp32: see ProbabilityOneOfABinaryLoss.
  make_probabilities(data, shape.back(), loss.kind == LossKind::binary_crossentropy ? 0.96875f : 1.0f);
  if (loss.from_logits)
    for (float& x : data.parameters) x = 20.0f * (x - 0.5f);
  const Reference reference = run_reference(g, layout, data);
  for (const Setting& setting : all_settings()) {
    SCOPED_TRACE("loss " + std::to_string(static_cast<int>(loss.kind)) +
                 (loss.from_logits ? " of logits " : " ") + stoker::to_string(shape) + " " +
                 to_string(setting));
    expect_close(Harness(g, layout, setting).run(data), reference, layout, 1e-5);
  }
}

TEST(LossAgreement, EveryLoss) {
  for (const Shape& shape : {Shape{5, 7}, Shape{1, 10}, Shape{4, 3, 2, 19}, Shape{600, 33}})
    for (int kind = 0; kind <= static_cast<int>(LossKind::huber); ++kind)
      for (const bool from_logits : {false, true})
        for (const float smoothing : {0.0f, 0.1f}) {
          LossAttributes loss{static_cast<LossKind>(kind), from_logits};
          if (!is_sparse(loss.kind)) loss.label_smoothing = smoothing;
          if (loss.kind == LossKind::huber) loss.delta = 0.3f;
          expect_loss_agrees(loss, shape);
        }
}

// Keras in fp32: p = 1 is clipped to 1 − 2⁻²³, −ln 2⁻²³ = 15.942385; p = 0 to 1e-7, −ln 1e-7 = 16.118095.
TEST(LossAgreement, ProbabilityOneOfABinaryLoss) {
  const Graph g = loss_graph({LossKind::binary_crossentropy}, {2, 1});
  const ParameterLayout layout = layout_of(g);
  Data data;
  data.parameters = {1.0f, 0.0f};
  data.float_target = {0.0f, 1.0f};
  for (const Setting& setting : all_settings()) {
    const Results results = Harness(g, layout, setting).run(data);
    EXPECT_FLOAT_EQ(results.statistics[0], 15.942385f + 16.118095f);
    EXPECT_EQ(results.gradients, (std::vector<float>{0.0f, 0.0f}));
  }
}

TEST(LossAgreement, EveryMetric) {
  for (const Shape& shape : {Shape{5, 7}, Shape{1, 10}, Shape{4, 3, 2, 19}, Shape{600, 33}})
    for (int kind = 0; kind <= static_cast<int>(MetricKind::mean_squared_error); ++kind) {
      const MetricAttributes metric{static_cast<MetricKind>(kind), 0.5f, 3};
      const bool sparse = metric.kind == MetricKind::sparse_categorical_accuracy ||
                          metric.kind == MetricKind::sparse_top_k_categorical_accuracy;
      GraphBuilder b(shape[0]);
      const ValueId x = b.parameter(0, shape, "prediction");
      b.add_metric(metric, x, sparse ? b.target(labels_of(shape), DType::i32) : b.target(shape, DType::f32),
                   "m");
      const Graph g = b.finish();
      const ParameterLayout layout = layout_of(g);
      Data data = random_data(g, layout, shape.back(), 31);
      if (metric.kind == MetricKind::binary_accuracy)
        for (float& t : data.float_target) t = t > 0 ? 1.0f : 0.0f;
      const Reference reference = run_reference(g, layout, data);
      for (const Setting& setting : all_settings()) {
        SCOPED_TRACE("metric " + std::to_string(kind) + " " + stoker::to_string(shape) + " " +
                     to_string(setting));
        expect_close(Harness(g, layout, setting).run(data), reference, layout, 1e-5);
      }
    }
}

TEST(LossAgreement, AParameterThatNothingReadsGetsZero) {
  GraphBuilder b(5);
  const ValueId x = b.parameter(0, {5, 3}, "prediction");
  b.parameter(1, {17}, "unused");
  b.add_loss({LossKind::mean_squared_error}, x, b.target({5, 3}, DType::f32), true);
  Graph g = b.finish();
  differentiate(g, {true, true});
  const ParameterLayout layout = layout_of(g);
  const Results results = Harness(g, layout, all_settings().front()).run(random_data(g, layout, 2, 3));
  const auto first = results.gradients.begin() + layout.ranges[1].offset;
  EXPECT_EQ(std::vector<float>(first, first + 17), std::vector<float>(17, 0.0f));
}

}  // namespace
}  // namespace stoker::backend::cpu::test
