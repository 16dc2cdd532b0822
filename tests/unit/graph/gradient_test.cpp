// The gradient of every op against finite differences of the reference interpreter.
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/graph/graph_test_support.h"

namespace stoker::graph::testing {
namespace {

// A body of one op whose inputs are the parameters.
Body one_op(OpKind kind, Attributes attributes) {
  return [=](GraphBuilder& b, const std::vector<ValueId>& p) { return b.add(kind, attributes, p, "op"); };
}

TEST(Gradient, Conv2D) {
  check_gradients({{2, 5, 4, 2}, {3, 2, 2, 3}, {3}}, one_op(OpKind::conv2d, Conv2DAttributes{}));
}

TEST(Gradient, Conv2DStrideAndAsymmetricPadding) {
  Conv2DAttributes a;
  a.stride_h = 2;
  a.stride_w = 3;
  a.padding = {0, 1, 1, 2};
  check_gradients({{2, 6, 5, 2}, {3, 3, 2, 2}, {2}}, one_op(OpKind::conv2d, a));
}

TEST(Gradient, Conv2DDilationWithoutBias) {
  Conv2DAttributes a;
  a.dilation_h = 2;
  a.dilation_w = 3;
  a.padding = {1, 1, 2, 2};
  check_gradients({{2, 5, 5, 1}, {2, 2, 1, 2}}, one_op(OpKind::conv2d, a));
}

TEST(Gradient, Conv2DGroupsAndDepthwise) {
  Conv2DAttributes a;
  a.groups = 2;
  check_gradients({{2, 3, 3, 4}, {2, 2, 2, 6}, {6}}, one_op(OpKind::conv2d, a));
  a.groups = 3;
  check_gradients({{2, 3, 3, 3}, {2, 2, 1, 6}, {6}}, one_op(OpKind::conv2d, a));
}

TEST(Gradient, MatMul) {
  check_gradients({{2, 3}, {3, 4}, {4}}, one_op(OpKind::matmul, MatMulAttributes{}));
  check_gradients({{2, 3}, {3, 4}}, one_op(OpKind::matmul, MatMulAttributes{}));
}

TEST(Gradient, Pool2D) {
  for (const bool is_max : {true, false}) {
    Pool2DAttributes a;
    a.is_max = is_max;
    check_gradients({{2, 4, 4, 3}}, one_op(OpKind::pool2d, a));
    a.window_h = 3;
    a.stride_w = 1;
    a.padding = {1, 1, 0, 1};
    check_gradients({{2, 5, 4, 2}}, one_op(OpKind::pool2d, a));
  }
}

TEST(Gradient, GlobalPool) {
  for (const bool is_max : {true, false})
    for (const Shape& shape : {Shape{2, 3, 2, 3}, Shape{2, 4, 3}})
      check_gradients({shape}, one_op(OpKind::global_pool, GlobalPoolAttributes{is_max}));
}

TEST(Gradient, GlobalMaxPoolSharesAmongTies) {
  const Graph graph = training_graph({{1, 2, 2, 1}}, one_op(OpKind::global_pool, GlobalPoolAttributes{true}));
  reference::Arguments arguments;
  arguments.parameters = {{3, 1, 3, 3}};
  arguments.target = {0};
  const reference::Tensor dx = reference::run(graph, arguments).gradients[0];
  EXPECT_EQ(dx, (reference::Tensor{2, 0, 2, 2}));  // d(y²) = 6, a third to each
}

TEST(Gradient, MaxPoolGivesTheFirstOfTies) {
  const Graph graph = training_graph({{1, 2, 2, 1}}, one_op(OpKind::pool2d, Pool2DAttributes{}));
  reference::Arguments arguments;
  arguments.parameters = {{1, 3, 3, 3}};
  arguments.target = {0};
  EXPECT_EQ(reference::run(graph, arguments).gradients[0], (reference::Tensor{0, 6, 0, 0}));
}

TEST(Gradient, Activations) {
  for (int kind = 0; kind <= static_cast<int>(ActivationKind::mish); ++kind) {
    ActivationAttributes a;
    a.kind = static_cast<ActivationKind>(kind);
    a.alpha = a.kind == ActivationKind::elu ? 0.7f : 0.0f;
    SCOPED_TRACE(kind);
    check_gradients({{2, 12}}, one_op(OpKind::activation, a), -4, 4);
  }
}

TEST(Gradient, ReluVariants) {
  ActivationAttributes a{.kind = ActivationKind::relu};
  a.alpha = 0.3f;
  check_gradients({{2, 12}}, one_op(OpKind::activation, a), -4, 4);
  a.max_value = 2.0f;
  check_gradients({{2, 12}}, one_op(OpKind::activation, a), -4, 4);
  a.threshold = 1.0f;
  check_gradients({{2, 12}}, one_op(OpKind::activation, a), -4, 4);
  a.alpha = -0.5f;  // not to be told from the output
  ASSERT_FALSE(gradient_from_output(a));
  check_gradients({{2, 12}}, one_op(OpKind::activation, a), -4, 4);
}

TEST(Gradient, Softmax) {
  check_gradients({{2, 5}}, one_op(OpKind::softmax, NoAttributes{}), -3, 3);
  check_gradients({{2, 3, 4}}, one_op(OpKind::softmax, NoAttributes{}), -3, 3);
}

TEST(Gradient, BatchNorm) {
  check_gradients({{2, 2, 3, 2}, {2}, {2}}, one_op(OpKind::batch_norm, BatchNormAttributes{}));
  check_gradients({{4, 3}}, one_op(OpKind::batch_norm, BatchNormAttributes{}));
  const auto with = [](bool gamma) {
    return [=](GraphBuilder& b, const std::vector<ValueId>& p) {
      const std::vector<ValueId> inputs =
          gamma ? std::vector<ValueId>{p[0], p[1]} : std::vector<ValueId>{p[0], kNoValue, p[1]};
      return b.add(OpKind::batch_norm, BatchNormAttributes{}, inputs, "op");
    };
  };
  check_gradients({{4, 3}, {3}}, with(true));
  check_gradients({{4, 3}, {3}}, with(false));
}

TEST(Gradient, BatchNormInference) {
  const Body body = [](GraphBuilder& b, const std::vector<ValueId>& p) {
    const ValueId mean = b.constant({0.1f, -0.2f}, "mean"), variance = b.constant({0.5f, 1.5f}, "variance");
    return b.add(OpKind::batch_norm_inference, BatchNormAttributes{}, {p[0], p[1], p[2], mean, variance},
                 "op");
  };
  check_gradients({{2, 2, 2, 2}, {2}, {2}}, body);
}

TEST(Gradient, BinaryWithBroadcasting) {
  for (const BinaryKind kind : {BinaryKind::add, BinaryKind::subtract, BinaryKind::multiply,
                                BinaryKind::maximum, BinaryKind::minimum}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const Body body = one_op(OpKind::binary, BinaryAttributes{.kind = kind, .activation = {}});
    check_gradients({{2, 3, 4}, {2, 3, 4}}, body);
    check_gradients({{2, 3, 4}, {4}}, body);
    check_gradients({{3, 1}, {2, 1, 4}}, body);
  }
}

TEST(Gradient, TiesOfMaximumAndMinimumGoToTheFirst) {
  for (const BinaryKind kind : {BinaryKind::maximum, BinaryKind::minimum}) {
    const Graph graph = training_graph(
        {{1, 1}, {1, 1}}, one_op(OpKind::binary, BinaryAttributes{.kind = kind, .activation = {}}));
    reference::Arguments arguments;
    arguments.parameters = {{2}, {2}};
    arguments.target = {0};
    const reference::Result result = reference::run(graph, arguments);
    EXPECT_EQ(result.gradients[0][0], 4);
    EXPECT_EQ(result.gradients[1][0], 0);
  }
}

TEST(Gradient, ScaleAndAffine) {
  check_gradients({{2, 3}}, one_op(OpKind::scale, ScaleAttributes{-1.5f}));
  check_gradients({{2, 3}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
    const ValueId shift = b.constant({0.5f}, "shift"), scale = b.constant({2, 3, 4}, "scale");
    return b.add(OpKind::affine, NoAttributes{}, {p[0], shift, scale, shift}, "op");
  });
  check_gradients({{2, 3}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
    return b.add(OpKind::affine, NoAttributes{}, {p[0], b.constant({0.5f}, "shift")}, "op");
  });
}

TEST(Gradient, Copies) {
  check_gradients({{2, 2, 3}, {2, 1, 3}, {2, 2, 3}}, one_op(OpKind::concat, ConcatAttributes{1}));
  check_gradients({{2, 3}, {2, 1}}, one_op(OpKind::concat, ConcatAttributes{1}));
  check_gradients({{2, 4, 3}}, one_op(OpKind::slice, SliceAttributes{{0, 1, 1}, {2, 2, 2}}));
  check_gradients({{2, 2, 3, 2}}, one_op(OpKind::pad2d, Padding2D{1, 0, 2, 1}));
  check_gradients({{2, 6}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
    const ValueId r = b.add_shaped(OpKind::reshape, NoAttributes{}, p, {2, 3, 2}, "op");
    return b.add(OpKind::global_pool, GlobalPoolAttributes{}, {r}, "pool");
  });
}

TEST(Gradient, Dropout) {
  check_gradients({{2, 12}}, one_op(OpKind::dropout, DropoutAttributes{0.4f, 2, 1}));
}

// Predictions are parameter 0 itself.
Graph loss_graph(const LossAttributes& loss, const Shape& shape, bool probabilities) {
  GraphBuilder b(shape[0]);
  const ValueId prediction = b.parameter(0, shape, "prediction");
  std::vector<std::int64_t> label_dims = shape.dims();
  label_dims.pop_back();
  const bool sparse = loss.kind == LossKind::sparse_categorical_crossentropy;
  const ValueId target = sparse ? b.target(Shape(label_dims), DType::i32) : b.target(shape, DType::f32);
  LossAttributes attributes = loss;
  attributes.from_logits = !probabilities;
  b.add_loss(attributes, prediction, target, true);
  Graph graph = b.finish();
  differentiate(graph, {true});
  return graph;
}

TEST(Gradient, Losses) {
  for (const LossKind kind : {LossKind::sparse_categorical_crossentropy, LossKind::categorical_crossentropy,
                              LossKind::binary_crossentropy, LossKind::mean_squared_error,
                              LossKind::mean_absolute_error, LossKind::huber})
    for (const bool probabilities : {false, true})
      for (const Shape& shape : {Shape{2, 3}, Shape{2, 2, 3}}) {
        SCOPED_TRACE(static_cast<int>(kind) * 10 + probabilities);
        LossAttributes loss{.kind = kind, .delta = 0.4f};
        if (kind != LossKind::sparse_categorical_crossentropy) loss.label_smoothing = 0.1f;
        const Graph graph = loss_graph(loss, shape, probabilities);
        reference::Arguments arguments =
            probabilities ? random_arguments(graph, 0.05, 0.95) : random_arguments(graph, -2, 2);
        if (kind == LossKind::categorical_crossentropy)  // distributions
          for (std::size_t row = 0; row < arguments.target.size(); row += 3)
            arguments.target[row + 2] = 1 - arguments.target[row] - arguments.target[row + 1];
        expect_gradients_match_differences(graph, arguments);
      }
}

TEST(Gradient, ClippedProbabilitiesHaveNone) {
  const Graph graph = loss_graph({.kind = LossKind::binary_crossentropy}, {1, 2}, true);
  reference::Arguments arguments;
  arguments.parameters = {{0, 1}};
  arguments.target = {1, 0};
  const reference::Result result = reference::run(graph, arguments);
  EXPECT_EQ(result.gradients[0], (reference::Tensor{0, 0}));
  EXPECT_NEAR(result.statistic(graph, "loss"), 16.118, 1e-3);
}

}  // namespace
}  // namespace stoker::graph::testing
