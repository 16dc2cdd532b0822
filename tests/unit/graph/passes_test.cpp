// What the passes fuse and what they must leave; that they change no result.
#include <gtest/gtest.h>

#include "tests/unit/graph/graph_test_support.h"

namespace stoker::graph::testing {
namespace {

ValueId activate(GraphBuilder& b, ValueId x, ActivationAttributes a) {
  return b.add(OpKind::activation, a, {x}, "activation");
}
ValueId relu(GraphBuilder& b, ValueId x) { return activate(b, x, {.kind = ActivationKind::relu}); }

// The graph after `pass`, which must give the same results.
template <typename Pass>
Graph after(const Graph& graph, Pass pass) {
  Graph passed = graph;
  pass(passed);
  expect_same_results(graph, passed, random_arguments(graph));
  return passed;
}

const std::vector<Shape> kConvolution{{2, 5, 5, 2}, {2, 2, 2, 3}, {3}};

TEST(FuseActivations, IntoConvolutionMatmulAndBinary) {
  for (const ActivationKind kind : {ActivationKind::relu, ActivationKind::sigmoid, ActivationKind::tanh}) {
    const Graph conv =
        after(training_graph(kConvolution,
                             [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                               return activate(b, b.add(OpKind::conv2d, Conv2DAttributes{}, p, "conv"),
                                               {.kind = kind});
                             }),
              fuse_activations);
    EXPECT_EQ(count_ops(conv, OpKind::activation), 0u);
    EXPECT_EQ(std::get<Conv2DAttributes>(find_op(conv, OpKind::conv2d).attributes).activation.kind, kind);
    const Graph dense =
        after(training_graph({{2, 3}, {3, 4}, {4}},
                             [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                               return activate(b, b.add(OpKind::matmul, MatMulAttributes{}, p, "dense"),
                                               {.kind = kind});
                             }),
              fuse_activations);
    EXPECT_EQ(count_ops(dense, OpKind::activation), 0u);
    const Graph sum =
        after(training_graph({{2, 3}, {3}},
                             [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                               return activate(b, b.add(OpKind::binary, BinaryAttributes{}, p, "add"),
                                               {.kind = kind});
                             }),
              fuse_activations);
    EXPECT_EQ(count_ops(sum, OpKind::activation), 0u);
  }
}

TEST(FuseActivations, NotWhereTheGradientNeedsTheInput) {
  const Graph graph =
      after(training_graph(kConvolution,
                           [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                             return activate(b, b.add(OpKind::conv2d, Conv2DAttributes{}, p, "conv"),
                                             {.kind = ActivationKind::gelu});
                           }),
            run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::activation), 1u);
}

TEST(FuseActivations, AnyKindForInference) {
  GraphBuilder b(2);
  const ValueId w = b.parameter(0, {3, 3}, "w");
  ValueId x = b.add(OpKind::matmul, MatMulAttributes{}, {b.input({3}), w}, "dense");
  x = activate(b, x, {.kind = ActivationKind::gelu});
  x = activate(b, x, {.kind = ActivationKind::tanh});  // a second one stays
  b.set_output(x, true);
  const Graph graph = after(b.finish(), run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::activation), 1u);
  EXPECT_EQ(std::get<MatMulAttributes>(find_op(graph, OpKind::matmul).attributes).activation.kind,
            ActivationKind::gelu);
}

TEST(FuseActivations, NotWhereOthersReadTheInput) {
  const Graph graph =
      after(training_graph({{2, 3}, {3, 3}},
                           [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                             const ValueId y = b.add(OpKind::matmul, MatMulAttributes{}, p, "dense");
                             return b.add(OpKind::binary, BinaryAttributes{}, {y, relu(b, y)}, "add");
                           }),
            run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::activation), 1u);
}

TEST(FuseActivations, NotIntoABoundOutput) {
  GraphBuilder b(2);
  const ValueId y =
      b.add(OpKind::matmul, MatMulAttributes{}, {b.input({3}), b.parameter(0, {3, 3}, "w")}, "dense");
  b.set_output(y, true);
  b.add_statistic(relu(b, y), 1, "positive part");
  EXPECT_EQ(count_ops(after(b.finish(), run_passes), OpKind::activation), 1u);
}

TEST(FuseActivations, BatchNormTakesItsReluBothWays) {
  for (const float max_value : {std::numeric_limits<float>::infinity(), 0.8f}) {
    const Graph graph =
        after(training_graph({{2, 3, 3, 2}, {2}, {2}},
                             [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                               return activate(b, b.add(OpKind::batch_norm, BatchNormAttributes{}, p, "bn"),
                                               {.kind = ActivationKind::relu, .max_value = max_value});
                             }),
              run_passes);
    EXPECT_EQ(count_ops(graph, OpKind::activation), 0u);
    EXPECT_EQ(count_ops(graph, OpKind::activation_grad), 0u);
    const Op& gradient = find_op(graph, OpKind::batch_norm_grad);
    ASSERT_EQ(gradient.inputs.size(), 6u);
    EXPECT_EQ(gradient.inputs[5], find_op(graph, OpKind::batch_norm).outputs[0]);
  }
}

TEST(FuseActivations, OtherActivationsOfBatchNormKeepTheirGradient) {
  for (const ActivationAttributes& a : {ActivationAttributes{.kind = ActivationKind::tanh},
                                        ActivationAttributes{.kind = ActivationKind::relu, .alpha = 0.2f}}) {
    const Graph graph = after(
        training_graph({{4, 2}, {2}, {2}},
                       [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                         return activate(b, b.add(OpKind::batch_norm, BatchNormAttributes{}, p, "bn"), a);
                       }),
        run_passes);
    EXPECT_EQ(count_ops(graph, OpKind::activation), 0u);
    EXPECT_EQ(count_ops(graph, OpKind::activation_grad), 1u);
    EXPECT_EQ(find_op(graph, OpKind::batch_norm_grad).inputs.size(), 5u);
  }
}

Body convolution_and_pool(ActivationAttributes a, bool is_max, bool second_reader) {
  return [=](GraphBuilder& b, const std::vector<ValueId>& p) {
    const ValueId y = activate(b, b.add(OpKind::conv2d, Conv2DAttributes{}, p, "conv"), a);
    Pool2DAttributes pool;
    pool.is_max = is_max;
    pool.stride_h = 1;  // windows overlap
    const ValueId pooled = b.add(OpKind::pool2d, pool, {y}, "pool");
    if (!second_reader) return pooled;
    const ValueId other = b.add(OpKind::global_pool, GlobalPoolAttributes{}, {y}, "other");
    const ValueId flat = b.add_shaped(OpKind::reshape, NoAttributes{}, {other}, {2, 1, 1, 3}, "flat");
    return b.add(OpKind::binary, BinaryAttributes{}, {pooled, flat}, "add");
  };
}

TEST(FusePoolGradients, TheMaskIsTakenOnThePooledValue) {
  const ActivationAttributes plain{.kind = ActivationKind::relu};
  const Graph graph =
      after(training_graph(kConvolution, convolution_and_pool(plain, true, false)), run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::activation_grad), 0u);
  const Op& gradient = find_op(graph, OpKind::pool2d_grad);
  ASSERT_EQ(gradient.inputs.size(), 3u);
  EXPECT_EQ(gradient.inputs[2], find_op(graph, OpKind::pool2d).outputs[0]);
}

TEST(FusePoolGradients, OnlyForAPlainReluThatThePoolAloneReads) {
  const ActivationAttributes plain{.kind = ActivationKind::relu};
  const auto unfused = [](const Body& body) {
    return count_ops(after(training_graph(kConvolution, body), run_passes), OpKind::activation_grad) == 1;
  };
  EXPECT_TRUE(unfused(convolution_and_pool(plain, false, false)));
  EXPECT_TRUE(unfused(convolution_and_pool(plain, true, true)));
  EXPECT_TRUE(unfused(convolution_and_pool({.kind = ActivationKind::relu, .alpha = 0.1f}, true, false)));
  EXPECT_TRUE(unfused(convolution_and_pool({.kind = ActivationKind::relu, .max_value = 0.3f}, true, false)));
  EXPECT_TRUE(unfused(convolution_and_pool({.kind = ActivationKind::tanh}, true, false)));
}

Graph softmax_graph(bool with_metric, bool bound) {
  GraphBuilder b(2);
  const ValueId x =
      b.add(OpKind::matmul, MatMulAttributes{}, {b.input({3}), b.parameter(0, {3, 3}, "w")}, "dense");
  const ValueId y = b.add(OpKind::softmax, NoAttributes{}, {x}, "softmax");
  const ValueId target = b.target({2}, DType::i32);
  b.add_loss({.kind = LossKind::sparse_categorical_crossentropy}, y, target, true);
  if (with_metric) b.add_metric({MetricKind::sparse_categorical_accuracy}, y, target, "accuracy");
  b.set_output(y, bound);
  Graph graph = b.finish();
  differentiate(graph, {true});
  return graph;
}

TEST(RemoveDeadOps, ASoftmaxThatNothingReadsGoes) {
  const Graph dead = after(softmax_graph(false, false), run_passes);
  EXPECT_EQ(count_ops(dead, OpKind::softmax), 0u);
  EXPECT_EQ(dead.prediction, kNoValue);
  EXPECT_EQ(dead.forward_ops, 2u);
  const Graph read = after(softmax_graph(true, false), run_passes);
  EXPECT_EQ(count_ops(read, OpKind::softmax), 1u);
  EXPECT_NE(read.prediction, kNoValue);
  EXPECT_EQ(count_ops(after(softmax_graph(false, true), run_passes), OpKind::softmax), 1u);
}

TEST(RemoveDeadOps, OptionalOutputsThatNothingReadsGo) {
  GraphBuilder b(2);
  const auto y = b.add_many(OpKind::batch_norm, BatchNormAttributes{}, {b.input({3, 3, 2})}, 3, "bn");
  const auto pooled = b.add_many(OpKind::pool2d, Pool2DAttributes{}, {y[0]}, 2, "pool");
  b.add_statistic(y[2], 1, "variance");
  b.set_output(pooled[0], true);
  const Graph graph = after(b.finish(), remove_dead_ops);
  EXPECT_EQ(find_op(graph, OpKind::pool2d).outputs.size(), 1u);
  const Op& norm = find_op(graph, OpKind::batch_norm);
  ASSERT_EQ(norm.outputs.size(), 3u);
  EXPECT_EQ(norm.outputs[1], kNoValue);
}

TEST(RemoveDeadOps, AWholeDeadBranchGoes) {
  GraphBuilder b(2);
  const ValueId x = b.input({3});
  relu(b, relu(b, b.add(OpKind::matmul, MatMulAttributes{}, {x, b.parameter(0, {3, 3}, "w")}, "dense")));
  b.set_output(b.add(OpKind::scale, ScaleAttributes{2}, {x}, "scale"), true);
  EXPECT_EQ(after(b.finish(), remove_dead_ops).ops.size(), 1u);
}

}  // namespace
}  // namespace stoker::graph::testing
