// Shapes, costs and checks of the ops, and what GraphBuilder does besides.
#include <gtest/gtest.h>

#include <stdexcept>

#include "lib/graph/op_table.h"
#include "tests/unit/graph/graph_test_support.h"

namespace stoker::graph::testing {
namespace {

// Adds an op on inputs of the given shapes (parameters) and returns its shape; throws as the builder does.
Shape shape_of(OpKind kind, Attributes attributes, const std::vector<Shape>& inputs) {
  GraphBuilder b(2);
  std::vector<ValueId> ids;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    ids.push_back(b.parameter(static_cast<std::int64_t>(k), inputs[k], "p"));
  return b.shape(b.add(kind, std::move(attributes), ids, "layer"));
}

TEST(OpTable, IsInTheOrderOfOpKind) {
  for (int k = 0; k < static_cast<int>(OpKind::count_); ++k) {
    const OpDef& definition = definition_of(static_cast<OpKind>(k));
    EXPECT_EQ(static_cast<int>(definition.kind), k) << definition.name;
    EXPECT_GE(definition.required_outputs, 1u);
  }
  EXPECT_EQ(name_of(OpKind::conv2d_grad_weights), "conv2d_grad_weights");
}

TEST(Shapes, Windows) {
  Conv2DAttributes conv;
  EXPECT_EQ(shape_of(OpKind::conv2d, conv, {{2, 28, 28, 1}, {3, 3, 1, 32}, {32}}), (Shape{2, 26, 26, 32}));
  conv.stride_h = conv.stride_w = 2;
  conv.padding = {0, 1, 0, 1};  // "same" for an even extent
  EXPECT_EQ(shape_of(OpKind::conv2d, conv, {{2, 28, 28, 1}, {3, 3, 1, 8}}), (Shape{2, 14, 14, 8}));
  conv = {};
  conv.dilation_h = 3;
  EXPECT_EQ(shape_of(OpKind::conv2d, conv, {{2, 9, 9, 1}, {3, 3, 1, 8}}), (Shape{2, 3, 7, 8}));
  Pool2DAttributes pool;
  EXPECT_EQ(shape_of(OpKind::pool2d, pool, {{2, 13, 13, 4}}), (Shape{2, 6, 6, 4}));
  EXPECT_EQ(shape_of(OpKind::global_pool, GlobalPoolAttributes{}, {{2, 13, 13, 4}}), (Shape{2, 4}));
}

TEST(Shapes, Others) {
  EXPECT_EQ(shape_of(OpKind::matmul, MatMulAttributes{}, {{2, 3}, {3, 5}, {5}}), (Shape{2, 5}));
  EXPECT_EQ(shape_of(OpKind::binary, BinaryAttributes{}, {{2, 1, 4}, {3, 1}}), (Shape{2, 3, 4}));
  EXPECT_EQ(shape_of(OpKind::concat, ConcatAttributes{2}, {{2, 3, 4}, {2, 3, 1}}), (Shape{2, 3, 5}));
  EXPECT_EQ(shape_of(OpKind::pad2d, Padding2D{1, 2, 3, 4}, {{2, 5, 5, 1}}), (Shape{2, 8, 12, 1}));
  EXPECT_EQ(shape_of(OpKind::batch_norm, BatchNormAttributes{}, {{2, 3, 4}, {4}, {4}}), (Shape{2, 3, 4}));
}

TEST(Shapes, MistakesAreRefusedByName) {
  const auto refused = [](OpKind kind, Attributes attributes, const std::vector<Shape>& inputs) {
    try {
      shape_of(kind, std::move(attributes), inputs);
      ADD_FAILURE() << name_of(kind) << " took its inputs";
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find("'layer'"), std::string::npos) << error.what();
    }
  };
  Conv2DAttributes conv;
  refused(OpKind::conv2d, conv, {{2, 5, 5, 3}, {3, 3, 4, 8}});       // channels
  refused(OpKind::conv2d, conv, {{2, 5, 5, 3}, {3, 3, 3, 8}, {7}});  // bias
  refused(OpKind::conv2d, conv, {{2, 2, 2, 3}, {3, 3, 3, 8}});       // kernel too large
  refused(OpKind::conv2d, conv, {{2, 5, 3}, {3, 3, 3, 8}});          // rank
  refused(OpKind::conv2d, conv, {{2, 5, 5, 3}});                     // no kernel
  refused(OpKind::conv2d, MatMulAttributes{}, {{2, 5, 5, 3}, {3, 3, 3, 8}});
  refused(OpKind::matmul, MatMulAttributes{}, {{2, 3}, {4, 5}});
  refused(OpKind::pool2d, Pool2DAttributes{}, {{2, 1, 5, 3}});
  Pool2DAttributes pool;
  pool.padding.top = 2;
  refused(OpKind::pool2d, pool, {{2, 5, 5, 3}});
  refused(OpKind::global_pool, GlobalPoolAttributes{}, {{2, 3}});
  refused(OpKind::binary, BinaryAttributes{}, {{2, 3}, {2}});
  refused(OpKind::concat, ConcatAttributes{1}, {{2, 3}, {1, 3}});
  refused(OpKind::concat, ConcatAttributes{2}, {{2, 3}, {2, 3}});
  refused(OpKind::slice, SliceAttributes{{0, 2}, {2, 2}}, {{2, 3}});
  refused(OpKind::pad2d, Padding2D{-1, 0, 0, 0}, {{2, 5, 5, 1}});
  refused(OpKind::batch_norm, BatchNormAttributes{}, {{2, 3}, {2}});
  refused(OpKind::dropout, DropoutAttributes{1.0f, 0, 0}, {{2, 3}});
  refused(OpKind::reshape, NoAttributes{}, {{2, 3}});  // no shape given
  refused(OpKind::affine, NoAttributes{}, {{2, 3}, {2}});
}

TEST(Shapes, GivenShapesAreChecked) {
  GraphBuilder b(2);
  const ValueId x = b.input({6}), dy = b.parameter(0, {2, 2, 2, 3}, "dy"),
                w = b.parameter(1, {3, 3, 1, 3}, "w");
  EXPECT_THROW(b.add_shaped(OpKind::reshape, NoAttributes{}, {x}, {2, 5}, "r"), std::logic_error);
  EXPECT_THROW(b.add_shaped(OpKind::reduce_to_shape, NoAttributes{}, {x}, {2, 3}, "r"), std::logic_error);
  Conv2DAttributes stride;
  stride.stride_h = stride.stride_w = 2;
  for (const std::int64_t extent : {5, 6})  // both give 2 outputs
    EXPECT_EQ(
        b.shape(b.add_shaped(OpKind::conv2d_grad_input, stride, {dy, w}, {2, extent, extent, 1}, "g"))[1],
        extent);
  EXPECT_THROW(b.add_shaped(OpKind::conv2d_grad_input, stride, {dy, w}, {2, 7, 7, 1}, "g"), std::logic_error);
}

TEST(Builder, OpsThatDoNothingAreNotAdded) {
  GraphBuilder b(2);
  const ValueId x = b.input({6});
  EXPECT_EQ(b.add(OpKind::dropout, DropoutAttributes{0.0f, 0, 0}, {x}, "drop"), x);
  EXPECT_EQ(b.add(OpKind::activation, ActivationAttributes{}, {x}, "linear"), x);
  EXPECT_TRUE(b.finish().ops.empty());
}

TEST(Builder, ParametersAreOneValueEach) {
  GraphBuilder b(2);
  const ValueId w = b.parameter(3, {4, 5}, "w");
  EXPECT_EQ(b.parameter(3, {4, 5}, "w"), w);
  EXPECT_NE(b.parameter(4, {4, 5}, "v"), w);
  EXPECT_THROW(b.parameter(3, {5, 4}, "w"), std::logic_error);
  b.input({1});
  EXPECT_THROW(b.input({1}), std::logic_error);
  EXPECT_THROW(GraphBuilder(0), std::logic_error);
}

TEST(Builder, StatisticsLieOneAfterTheOther) {
  GraphBuilder b(4);
  const ValueId x = b.input({3}), mean = b.parameter(0, {3}, "m");
  b.add_loss({.kind = LossKind::mean_squared_error}, x, b.target({4, 3}, DType::f32), false);
  b.moving_statistic(mean, 7, 0.9f, "batch_norm/7");
  b.moving_statistic(mean, 7, 0.9f, "batch_norm/7");
  EXPECT_THROW(b.add_statistic(mean, 1, "loss"), std::logic_error);
  const Graph graph = b.finish();
  ASSERT_EQ(graph.statistics.size(), 3u);
  EXPECT_EQ(graph.statistics[1].name, "batch_norm/7");
  EXPECT_EQ(graph.statistics[2].name, "batch_norm/7#2");
  EXPECT_EQ(graph.statistics_size, 7);
  ASSERT_EQ(graph.moving_statistics.size(), 2u);
  EXPECT_EQ(graph.moving_statistics[1].parameter, 7);
  EXPECT_EQ(graph.moving_statistics[1].offset, 4);
  reference::Arguments arguments = random_arguments(graph);
  arguments.parameters[0] = {1, 2, 3};
  const auto result = reference::run(graph, arguments);
  EXPECT_EQ(result.statistic(graph, "batch_norm/7", 2), 12);  // n·3
  EXPECT_EQ(result.statistic(graph, "batch_norm/7#2", 0), 4);
}

TEST(Builder, TheOutputIsBoundWithoutACopyWhereItCan) {
  const auto build = [](int what) {
    GraphBuilder b(2);
    ValueId x = b.input({6});
    if (what > 0) x = b.add(OpKind::scale, ScaleAttributes{2}, {x}, "double");
    if (what > 1) x = b.add_shaped(OpKind::reshape, NoAttributes{}, {x}, {2, 3, 2}, "view");
    b.set_output(x, true);
    Graph graph = b.finish();
    run_passes(graph);
    return graph;
  };
  for (int what = 0; what < 3; ++what) {
    const Graph graph = build(what);
    EXPECT_EQ(count_ops(graph, OpKind::scale), 1u);
    ASSERT_NE(graph.prediction, kNoValue);
    const ValueId root = memory_root(graph, graph.prediction);
    EXPECT_EQ(graph.values[static_cast<std::size_t>(root)].role, Role::output);
    reference::Arguments arguments = random_arguments(graph);
    reference::Tensor expected = arguments.input;
    if (what > 0)
      for (double& v : expected) v *= 2;
    EXPECT_EQ(reference::run(graph, arguments).output, expected);
  }
}

// Which value and how (from logits) the loss of a prediction reads.
struct LossInput {
  ValueId prediction;
  bool from_logits;
};
LossInput loss_input(const Graph& graph) {
  const Op& op = find_op(graph, OpKind::loss);
  return {op.inputs[0], std::get<LossAttributes>(op.attributes).from_logits};
}

TEST(Builder, CrossEntropyLooksBehindItsSoftmax) {
  for (const LossKind kind :
       {LossKind::categorical_crossentropy, LossKind::sparse_categorical_crossentropy}) {
    GraphBuilder b(2);
    const ValueId x = b.input({3});
    ValueId y = b.add(OpKind::softmax, NoAttributes{}, {x}, "softmax");
    y = b.add(OpKind::dropout, DropoutAttributes{0.0f, 0, 0}, {y}, "drop");
    const ValueId target =
        kind == LossKind::categorical_crossentropy ? b.target({2, 3}, DType::f32) : b.target({2}, DType::i32);
    b.add_loss({.kind = kind}, y, target, false);
    const LossInput input = loss_input(b.finish());
    EXPECT_EQ(input.prediction, x);
    EXPECT_TRUE(input.from_logits);
  }
}

TEST(Builder, BinaryCrossEntropyLooksBehindItsSigmoid) {
  GraphBuilder b(2);
  const ValueId x = b.input({3});
  const ValueId y =
      b.add(OpKind::activation, ActivationAttributes{.kind = ActivationKind::sigmoid}, {x}, "sigmoid");
  b.add_loss({.kind = LossKind::binary_crossentropy}, y, b.target({2, 3}, DType::f32), false);
  EXPECT_EQ(loss_input(b.finish()).prediction, x);
}

TEST(Builder, OtherLossesAndReshapesKeepTheProbabilities) {
  const auto built = [](LossKind kind, OpKind last, bool reshaped) {
    GraphBuilder b(2);
    ValueId y = b.input({3});
    y = last == OpKind::softmax
            ? b.add(last, NoAttributes{}, {y}, "softmax")
            : b.add(last, ActivationAttributes{.kind = ActivationKind::sigmoid}, {y}, "sigmoid");
    if (reshaped) y = b.add_shaped(OpKind::reshape, NoAttributes{}, {y}, {2, 3}, "reshape");
    b.add_loss({.kind = kind}, y, b.target({2, 3}, DType::f32), false);
    return loss_input(b.finish()).from_logits;
  };
  EXPECT_TRUE(built(LossKind::categorical_crossentropy, OpKind::softmax, false));
  EXPECT_FALSE(built(LossKind::categorical_crossentropy, OpKind::softmax, true));
  EXPECT_TRUE(built(LossKind::categorical_crossentropy, OpKind::activation, false));
  EXPECT_TRUE(built(LossKind::binary_crossentropy, OpKind::softmax, false));
  EXPECT_FALSE(built(LossKind::binary_crossentropy, OpKind::activation, true));
  EXPECT_FALSE(built(LossKind::mean_squared_error, OpKind::softmax, false));
}

TEST(Cost, CountsMultiplyAddsTwice) {
  GraphBuilder b(2);
  const ValueId x = b.input({5, 5, 3});
  const ValueId w = b.parameter(0, {3, 3, 3, 8}, "w"), v = b.parameter(1, {72, 10}, "v");
  const ValueId y = b.add(OpKind::conv2d, Conv2DAttributes{}, {x, w}, "conv");
  const ValueId flat = b.add_shaped(OpKind::reshape, NoAttributes{}, {y}, {2, 72}, "flat");
  b.add(OpKind::matmul, MatMulAttributes{}, {flat, v}, "dense");
  const Graph graph = b.finish();
  const Cost conv = cost_of(graph, graph.ops[0]), view = cost_of(graph, graph.ops[1]),
             dense = cost_of(graph, graph.ops[2]);
  EXPECT_EQ(conv.flops, 2.0 * (2 * 3 * 3 * 8) * (3 * 3 * 3));
  EXPECT_EQ(conv.bytes, 4.0 * (2 * 5 * 5 * 3 + 3 * 3 * 3 * 8 + 2 * 3 * 3 * 8));
  EXPECT_EQ(view.flops, 0);
  EXPECT_EQ(view.bytes, 0);
  EXPECT_EQ(dense.flops, 2.0 * 2 * 72 * 10);
}

// The two gradients of a convolution cost what it costs itself, whatever the stride.
TEST(Cost, GradientsOfConvolutionsCostTheSame) {
  Conv2DAttributes a;
  a.stride_h = a.stride_w = 2;
  a.groups = 2;
  const Graph graph = training_graph(
      {{2, 6, 6, 4}, {3, 3, 2, 4}},
      [&](GraphBuilder& b, const std::vector<ValueId>& p) { return b.add(OpKind::conv2d, a, p, "conv"); });
  const double flops = cost_of(graph, find_op(graph, OpKind::conv2d)).flops;
  EXPECT_EQ(cost_of(graph, find_op(graph, OpKind::conv2d_grad_input)).flops, flops);
  EXPECT_EQ(cost_of(graph, find_op(graph, OpKind::conv2d_grad_weights)).flops, flops);
}

TEST(Listing, SaysOpsValuesAndShapes) {
  GraphBuilder b(2);
  const ValueId x = b.input({3}), w = b.parameter(5, {3, 4}, "w");
  b.set_output(b.add(OpKind::matmul, MatMulAttributes{}, {x, w}, "dense"), true);
  EXPECT_EQ(to_string(b.finish()),
            "   0 matmul 'dense': %0=input[0] (2, 3), %1=parameter[5] (3, 4) -> %2=output[0] (2, 4)\n");
}

}  // namespace
}  // namespace stoker::graph::testing
