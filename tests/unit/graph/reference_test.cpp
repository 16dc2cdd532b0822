// The reference interpreter against numbers that are not its own: Keras 3.15 on TensorFlow 2.21 in float64
// (activations and losses with their gradients by tf.GradientTape), and sums done by hand.
#include <gtest/gtest.h>

#include "tests/unit/graph/graph_test_support.h"
#include "tests/unit/graph/reference_ops.h"

namespace stoker::graph::testing {
namespace {

using reference::Tensor;

struct ActivationCase {
  ActivationAttributes attributes;
  double y[2], derivative[2];  // at −1.3 and 0.7
};

const ActivationCase kActivations[] = {
    {{.kind = ActivationKind::relu}, {0, 0.7}, {0, 1}},
    {{.kind = ActivationKind::relu, .alpha = 0.25f, .max_value = 6, .threshold = 0.5f},
     {-0.45, 0.7},
     {0.25, 1}},
    {{.kind = ActivationKind::relu, .max_value = 0.5f}, {0, 0.5}, {0, 0}},
    {{.kind = ActivationKind::elu, .alpha = 0.7f}, {-0.50922774, 0.7}, {0.19077226, 1}},
    {{.kind = ActivationKind::selu}, {-1.27896138, 0.73549069}, {0.47913797, 1.05070099}},
    {{.kind = ActivationKind::gelu}, {-0.12584063, 0.53062544}, {-0.12597868, 0.97661410}},
    {{.kind = ActivationKind::gelu_tanh}, {-0.12607099, 0.53057013}, {-0.12587807, 0.97635722}},
    {{.kind = ActivationKind::silu}, {-0.27841452, 0.46773144}, {-0.00462285, 0.82338678}},
    {{.kind = ActivationKind::sigmoid}, {0.21416502, 0.66818777}, {0.16829836, 0.22171287}},
    {{.kind = ActivationKind::hard_sigmoid}, {0.28333333, 0.61666667}, {0.16666667, 0.16666667}},
    {{.kind = ActivationKind::hard_sigmoid_v2}, {0.24, 0.64}, {0.2, 0.2}},
    {{.kind = ActivationKind::tanh}, {-0.86172316, 0.60436778}, {0.25743320, 0.63473959}},
    {{.kind = ActivationKind::softplus}, {0.24100845, 1.10318605}, {0.21416502, 0.66818777}},
    {{.kind = ActivationKind::softsign}, {-0.56521739, 0.41176471}, {0.18903592, 0.34602076}},
    {{.kind = ActivationKind::exponential}, {0.27253179, 2.01375271}, {0.27253179, 2.01375271}},
    {{.kind = ActivationKind::mish}, {-0.30738246, 0.56114838}, {-0.02640096, 0.96879487}},
};

TEST(Reference, ActivationsAreThoseOfKeras) {
  const double at[2] = {-1.3, 0.7};
  for (const ActivationCase& c : kActivations)
    for (int i = 0; i < 2; ++i) {
      SCOPED_TRACE(static_cast<int>(c.attributes.kind));
      EXPECT_NEAR(reference::activate(c.attributes, at[i]), c.y[i], 2e-8);
      EXPECT_NEAR(reference::activation_derivative(c.attributes, at[i]), c.derivative[i], 2e-8);
      if (!gradient_from_output(c.attributes)) continue;
      ActivationAttributes from_output = c.attributes;
      from_output.from_output = true;
      EXPECT_NEAR(reference::activation_derivative(from_output, reference::activate(c.attributes, at[i])),
                  c.derivative[i], 2e-8);
    }
}

struct LossCase {
  LossAttributes attributes;
  double sum;
  Tensor gradient;
};

// Of probabilities with a sum below and above 1, one of them clipped.
TEST(Reference, LossesAreThoseOfKeras) {
  const Tensor prediction{0.2, 0.5, 0.1, 1e-9, 0.3, 0.9}, target{0, 1, 0, 0.2, 0.3, 0.5}, labels{1, 0};
  const LossCase cases[] = {
      {{.kind = LossKind::categorical_crossentropy, .label_smoothing = 0.1f},
       4.55227728,
       {1.08333333, -0.61666667, 0.91666667, 0.65555556, -0.35555556, 0.11851852}},
      {{.kind = LossKind::sparse_categorical_crossentropy},
       16.77042092,
       {1.25, -0.75, 1.25, 0, 0.83333326, 0.83333326}},
      {{.kind = LossKind::binary_crossentropy, .label_smoothing = 0.1f},
       2.24659078,
       {0.3125, -0.6, 0.18518519, 0, -0.03174603, 1.48148148}},
      {{.kind = LossKind::categorical_crossentropy, .from_logits = true},
       1.91068416,
       {0.30724834, -0.58525813, 0.27800979, 0.00792347, -0.01933268, 0.01140921}},
      {{.kind = LossKind::huber, .delta = 0.4f},
       0.08166667,
       {0.06666667, -0.13333333, 0.03333333, -0.06666667, 0, 0.13333333}},
      {{.kind = LossKind::mean_squared_error},
       0.16666667,
       {0.13333333, -0.33333333, 0.06666667, -0.13333333, 0, 0.26666667}},
      {{.kind = LossKind::mean_absolute_error},
       0.46666667,
       {0.33333333, -0.33333333, 0.33333333, -0.33333333, 0, 0.33333333}},
  };
  for (const LossCase& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.attributes.kind));
    const bool sparse = c.attributes.kind == LossKind::sparse_categorical_crossentropy;
    GraphBuilder b(2);
    const ValueId t = sparse ? b.target({2}, DType::i32) : b.target({2, 3}, DType::f32);
    b.add_loss(c.attributes, b.parameter(0, {2, 3}, "prediction"), t, true);
    Graph graph = b.finish();
    differentiate(graph, {true});
    const reference::Result result =
        reference::run(graph, {.input = {}, .target = sparse ? labels : target, .parameters = {prediction}});
    EXPECT_NEAR(result.statistic(graph, "loss"), c.sum, 1e-6);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(result.gradients[0][i], c.gradient[i], 1e-6) << i;
  }
}

// The value of one op on parameters.
Tensor value_of(OpKind kind, Attributes attributes, const std::vector<Shape>& shapes,
                std::vector<Tensor> data) {
  GraphBuilder b(1);
  std::vector<ValueId> ids;
  for (std::size_t k = 0; k < shapes.size(); ++k)
    ids.push_back(b.parameter(static_cast<std::int64_t>(k), shapes[k], "p"));
  const ValueId y = b.add(kind, std::move(attributes), ids, "op");
  return reference::run(b.finish(), {.input = {}, .target = {}, .parameters = std::move(data)})
      .values[static_cast<std::size_t>(y)];
}

TEST(Reference, Conv2D) {
  // A 2×2 kernel over a 3×3 image, stride 2, one row above and one column at the left of padding; bias 10.
  Conv2DAttributes a;
  a.stride_h = a.stride_w = 2;
  a.padding = {1, 0, 1, 0};
  const Tensor x{1, 2, 3, 4, 5, 6, 7, 8, 9}, w{1, 2, 3, 4};
  EXPECT_EQ(value_of(OpKind::conv2d, a, {{1, 3, 3, 1}, {2, 2, 1, 1}, {1}}, {x, w, {10}}),
            (Tensor{10 + 4 * 1, 10 + 3 * 2 + 4 * 3, 10 + 2 * 4 + 4 * 7, 10 + 5 + 2 * 6 + 3 * 8 + 4 * 9}));
  // Two groups of one channel, two outputs each: output o takes channel o / 2.
  a = {};
  a.groups = 2;
  EXPECT_EQ(value_of(OpKind::conv2d, a, {{1, 1, 1, 2}, {1, 1, 1, 4}}, {{3, 5}, {1, 2, 10, 20}}),
            (Tensor{3, 6, 50, 100}));
}

TEST(Reference, Pools) {
  Pool2DAttributes a;
  a.padding = {0, 1, 0, 1};  // as "same" for 3×3
  const Tensor x{-1, -2, -3, -4, -5, -6, -7, -8, -9};
  EXPECT_EQ(value_of(OpKind::pool2d, a, {{1, 3, 3, 1}}, {x}), (Tensor{-1, -3, -7, -9}));
  a.is_max = false;
  EXPECT_EQ(value_of(OpKind::pool2d, a, {{1, 3, 3, 1}}, {x}), (Tensor{-3, -4.5, -7.5, -9}));
  EXPECT_EQ(value_of(OpKind::global_pool, GlobalPoolAttributes{false}, {{1, 2, 2}}, {{1, 2, 3, 4}}),
            (Tensor{2, 3}));
  EXPECT_EQ(value_of(OpKind::global_pool, GlobalPoolAttributes{true}, {{1, 2, 2}}, {{1, 2, 3, 4}}),
            (Tensor{3, 4}));
}

TEST(Reference, MatMulBinaryAndCopies) {
  EXPECT_EQ(
      value_of(OpKind::matmul, MatMulAttributes{}, {{1, 2}, {2, 2}, {2}}, {{1, 2}, {3, 4, 5, 6}, {1, -1}}),
      (Tensor{14, 15}));
  EXPECT_EQ(value_of(OpKind::binary, BinaryAttributes{.kind = BinaryKind::subtract, .activation = {}},
                     {{2, 1}, {2}}, {{1, 10}, {3, 4}}),
            (Tensor{-2, -3, 7, 6}));
  EXPECT_EQ(value_of(OpKind::concat, ConcatAttributes{1}, {{2, 1}, {2, 2}}, {{1, 2}, {3, 4, 5, 6}}),
            (Tensor{1, 3, 4, 2, 5, 6}));
  EXPECT_EQ(value_of(OpKind::slice, SliceAttributes{{0, 1}, {2, 2}}, {{2, 3}}, {{1, 2, 3, 4, 5, 6}}),
            (Tensor{2, 3, 5, 6}));
  EXPECT_EQ(value_of(OpKind::pad2d, Padding2D{1, 0, 0, 1}, {{1, 1, 1, 1}}, {{7}}), (Tensor{0, 0, 7, 0}));
}

TEST(Reference, SoftmaxAndItsLossStayFiniteAtThousands) {
  const Tensor y = value_of(OpKind::softmax, NoAttributes{}, {{1, 3}}, {{5000, 4000, -5000}});
  EXPECT_EQ(y, (Tensor{1, 0, 0}));
  GraphBuilder b(1);
  const ValueId target = b.target({1}, DType::i32);
  b.add_loss({.kind = LossKind::sparse_categorical_crossentropy, .from_logits = true},
             b.parameter(0, {1, 3}, "logits"), target, false);
  const Graph graph = b.finish();
  const auto result =
      reference::run(graph, {.input = {}, .target = {1}, .parameters = {{5000, 4000, -5000}}});
  EXPECT_EQ(result.statistic(graph, "loss"), 1000);
}

TEST(Reference, BatchNorm) {
  GraphBuilder b(2);
  const ValueId x = b.parameter(0, {2, 1}, "x");
  BatchNormAttributes a;
  a.epsilon = 3;
  const auto y = b.add_many(OpKind::batch_norm, a, {x}, 3, "bn");
  const auto values = reference::run(b.finish(), {.input = {}, .target = {}, .parameters = {{4, 6}}}).values;
  EXPECT_EQ(values[static_cast<std::size_t>(y[0])], (Tensor{-0.5, 0.5}));
  EXPECT_EQ(values[static_cast<std::size_t>(y[1])], (Tensor{5}));
  EXPECT_EQ(values[static_cast<std::size_t>(y[2])], (Tensor{1}));
}

double metric_of(const MetricAttributes& metric, const Shape& shape, const Tensor& prediction,
                 const Tensor& target) {
  GraphBuilder b(shape[0]);
  std::vector<std::int64_t> dims = shape.dims();
  const bool labels = target.size() < prediction.size();
  if (labels) dims.pop_back();
  const ValueId t = b.target(Shape(dims), labels ? DType::i32 : DType::f32);
  b.add_metric(metric, b.parameter(0, shape, "prediction"), t, "m");
  const Graph graph = b.finish();
  return reference::run(graph, {.input = {}, .target = target, .parameters = {prediction}})
      .statistic(graph, "metric/m");
}

TEST(Reference, Metrics) {
  const Tensor p{0.1, 0.7, 0.2, 0.5, 0.4, 0.5};
  EXPECT_EQ(metric_of({MetricKind::sparse_categorical_accuracy}, {2, 3}, p, {1, 2}), 1);  // ties: the first
  EXPECT_EQ(metric_of({MetricKind::sparse_top_k_categorical_accuracy, 0.5f, 1}, {2, 3}, p, {1, 2}), 2);
  EXPECT_EQ(metric_of({MetricKind::sparse_top_k_categorical_accuracy, 0.5f, 2}, {2, 3}, p, {0, 1}), 0);
  EXPECT_EQ(metric_of({MetricKind::categorical_accuracy}, {2, 3}, p, {0, 1, 0, 1, 0, 0}), 2);
  EXPECT_EQ(metric_of({MetricKind::top_k_categorical_accuracy, 0.5f, 2}, {2, 3}, p, {1, 0, 0, 0, 0, 1}), 1);
  EXPECT_DOUBLE_EQ(metric_of({MetricKind::binary_accuracy}, {2, 3}, p, {0, 1, 1, 0, 0, 1}),
                   2.0 / 3 + 2.0 / 3);
  EXPECT_NEAR(metric_of({MetricKind::mean_absolute_error}, {2, 3}, p, {0.1, 0.7, 0.2, 1, 1, 1}), 1.6 / 3,
              1e-12);
  EXPECT_NEAR(metric_of({MetricKind::mean_squared_error}, {2, 3}, p, {0.1, 0.7, 0.2, 1, 1, 1}), 0.86 / 3,
              1e-12);
  // Mean over the axes between batch and classes.
  EXPECT_EQ(metric_of({MetricKind::sparse_categorical_accuracy}, {1, 2, 3}, p, {1, 2}), 0.5);
}

TEST(Reference, DropoutKeepsItsShareAndScales) {
  GraphBuilder b(1);
  const ValueId y = b.add(OpKind::dropout, DropoutAttributes{0.25f, 1, 0}, {b.input({4000})}, "drop");
  const Graph graph = b.finish();
  reference::Arguments arguments;
  arguments.input.assign(4000, 3);
  arguments.seed = 11;
  const auto run = [&] { return reference::run(graph, arguments).values[static_cast<std::size_t>(y)]; };
  const Tensor first = run();
  double kept = 0;
  for (const double v : first) {
    EXPECT_TRUE(v == 0 || v == 4);
    kept += v == 4;
  }
  EXPECT_NEAR(kept / 4000, 0.75, 0.03);
  EXPECT_EQ(run(), first);
  for (std::uint64_t* part : {&arguments.seed, &arguments.step}) {
    ++*part;
    EXPECT_NE(run(), first);
    --*part;
  }
  arguments.leaf = 1;
  EXPECT_NE(run(), first);
}

}  // namespace
}  // namespace stoker::graph::testing
