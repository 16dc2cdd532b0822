// What the passes fuse and what they must leave; that they change no result.
#include <gtest/gtest.h>

#include "lib/graph/op_table.h"
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

// Moves a value out of the arena, into the tail.
void keep(Graph& graph, ValueId id) {
  Value& value = graph.values[static_cast<std::size_t>(id)];
  value.role = Role::statistic;
  value.index = graph.statistics_size;
  graph.statistics.push_back({"kept", graph.statistics_size, value.shape.elements()});
  graph.statistics_size += value.shape.elements();
}

// Gives a value one more reader, at the end of the graph.
void keep_copy(Graph& graph, ValueId id) {
  keep(graph, append_op(graph, {OpKind::scale, ScaleAttributes{1}, {id}, "copy"})[0]);
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

TEST(FuseActivations, NotIntoThePrediction) {
  for (const bool bound : {false, true}) {
    GraphBuilder b(2);
    const ValueId y =
        b.add(OpKind::matmul, MatMulAttributes{}, {b.input({3}), b.parameter(0, {3, 3}, "w")}, "dense");
    b.set_output(y, bound);
    b.add_statistic(relu(b, y), 1, "positive part");
    EXPECT_EQ(count_ops(after(b.finish(), fuse_activations), OpKind::activation), 1u);
  }
}

TEST(FuseActivations, NotIntoAStatistic) {
  GraphBuilder b(2);
  const ValueId y =
      b.add(OpKind::matmul, MatMulAttributes{}, {b.input({3}), b.parameter(0, {3, 3}, "w")}, "dense");
  b.set_output(relu(b, y), true);
  Graph graph = b.finish();
  keep(graph, y);
  EXPECT_EQ(count_ops(after(graph, fuse_activations), OpKind::activation), 1u);
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

// batch_norm and a ReLU with a maximum, and their gradients.
Graph batch_norm_and_relu() {
  return training_graph({{2, 3, 3, 2}, {2}, {2}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
    return activate(b, b.add(OpKind::batch_norm, BatchNormAttributes{}, p, "bn"),
                    {.kind = ActivationKind::relu, .max_value = 0.8f});
  });
}

TEST(FuseActivations, TheGradientOfAReluWithAnotherMaximumStays) {
  Graph graph = batch_norm_and_relu();
  for (Op& op : graph.ops)
    if (op.kind == OpKind::activation_grad) std::get<ActivationAttributes>(op.attributes).max_value = 0.3f;
  const Graph passed = after(graph, fuse_activations);
  EXPECT_EQ(count_ops(passed, OpKind::activation), 0u);
  EXPECT_EQ(count_ops(passed, OpKind::activation_grad), 1u);
}

TEST(FuseActivations, TheGradientOfAReluThatOthersReadStays) {
  Graph graph = batch_norm_and_relu();
  keep_copy(graph, find_op(graph, OpKind::activation_grad).outputs[0]);
  EXPECT_EQ(count_ops(after(graph, fuse_activations), OpKind::activation_grad), 1u);
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

TEST(FusePoolGradients, NotWhereThePoolReadsAnotherValue) {
  const Graph graph =
      after(training_graph(kConvolution,
                           [](GraphBuilder& b, const std::vector<ValueId>& p) {
                             ValueId y = b.add(OpKind::conv2d, Conv2DAttributes{}, p, "conv");
                             const ValueId shift = b.constant({0.2f, 0.1f, 0.3f}, "shift");
                             y = b.add(OpKind::binary, BinaryAttributes{}, {relu(b, y), shift}, "add");
                             return b.add(OpKind::pool2d, Pool2DAttributes{}, {y}, "pool");
                           }),
            fuse_pool_gradients);
  EXPECT_EQ(count_ops(graph, OpKind::activation_grad), 1u);
}

TEST(FusePoolGradients, NotWhereOthersReadThePoolsGradient) {
  const ActivationAttributes plain{.kind = ActivationKind::relu};
  Graph graph = training_graph(kConvolution, convolution_and_pool(plain, true, false));
  keep_copy(graph, find_op(graph, OpKind::pool2d_grad).outputs[0]);
  EXPECT_EQ(count_ops(after(graph, fuse_pool_gradients), OpKind::activation_grad), 1u);
}

Body padded_convolutions(const Padding2D& padding, std::size_t convolutions) {
  return [=](GraphBuilder& b, const std::vector<ValueId>& p) {
    const ValueId x = b.add(OpKind::pad2d, padding, {p[0]}, "pad");
    Conv2DAttributes a;
    a.stride_h = 2;
    a.padding = {0, 1, 0, 0};
    ValueId y = b.add(OpKind::conv2d, a, {x, p[1], p[2]}, "conv");
    for (std::size_t k = 1; k < convolutions; ++k)
      y = b.add(OpKind::binary, BinaryAttributes{}, {y, b.add(OpKind::conv2d, a, {x, p[1]}, "conv")}, "add");
    return y;
  };
}

TEST(FusePadding, IntoAConvolutionAndItsGradients) {
  const Graph graph = after(training_graph(kConvolution, padded_convolutions({1, 0, 1, 1}, 1)), run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::pad2d), 0u);
  EXPECT_EQ(count_ops(graph, OpKind::slice), 0u);
  const Padding2D expected{1, 1, 1, 1};
  for (const OpKind kind : {OpKind::conv2d, OpKind::conv2d_grad_input, OpKind::conv2d_grad_weights})
    EXPECT_EQ(std::get<Conv2DAttributes>(find_op(graph, kind).attributes).padding, expected) << name_of(kind);
}

TEST(FusePadding, NotWhereAWindowWouldLieInThePadding) {
  const Graph graph = after(training_graph(kConvolution, padded_convolutions({2, 0, 0, 0}, 1)), run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::pad2d), 1u);
  EXPECT_EQ(count_ops(graph, OpKind::slice), 1u);
}

TEST(FusePadding, SeveralConvolutionsKeepTheSliceOfTheirSum) {
  const Graph graph = after(training_graph(kConvolution, padded_convolutions({1, 0, 1, 1}, 2)), run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::pad2d), 0u);
  EXPECT_EQ(count_ops(graph, OpKind::slice), 1u);
}

// A convolution or a matrix product with batch_norm_inference and a ReLU behind, bound to the output.
struct FoldCase {
  bool convolution, bias, gamma;
};
Graph normalised(const FoldCase& c, std::int64_t batch) {
  GraphBuilder b(batch);
  const Shape x = c.convolution ? Shape{5, 5, 2} : Shape{4},
              w = c.convolution ? Shape{2, 2, 2, 3} : Shape{4, 3};
  std::vector<ValueId> inputs{b.input(x), b.parameter(0, w, "w")};
  if (c.bias) inputs.push_back(b.parameter(1, {3}, "bias"));
  ValueId y = c.convolution ? b.add(OpKind::conv2d, Conv2DAttributes{}, inputs, "conv")
                            : b.add(OpKind::matmul, MatMulAttributes{}, inputs, "dense");
  const ValueId mean = b.parameter(2, {3}, "mean"), variance = b.parameter(3, {3}, "variance");
  const ValueId gamma = c.gamma ? b.parameter(4, {3}, "gamma") : kNoValue, beta = b.parameter(5, {3}, "beta");
  y = b.add(OpKind::batch_norm_inference, BatchNormAttributes{}, {y, gamma, beta, mean, variance}, "bn");
  b.set_output(relu(b, y), true);
  return b.finish();
}

TEST(FoldBatchNorm, IntoKernelAndBias) {
  for (const FoldCase& c : {FoldCase{true, true, true}, FoldCase{true, false, false},
                            FoldCase{false, true, true}, FoldCase{false, false, true}}) {
    const Graph graph = normalised(c, 8);
    Graph passed = graph;
    run_passes(passed);
    expect_same_results(graph, passed, random_arguments(graph, 0.2, 1));
    EXPECT_EQ(count_ops(passed, OpKind::activation), 0u);
    // What is left of it works on the kernel and the bias.
    const Op& on_kernel = find_op(passed, OpKind::batch_norm_inference_grad);
    EXPECT_EQ(passed.values[static_cast<std::size_t>(on_kernel.inputs[0])].role, Role::parameter);
    const Op& on_bias = find_op(passed, OpKind::batch_norm_inference);
    EXPECT_EQ(passed.values[static_cast<std::size_t>(on_bias.outputs[0])].shape, (Shape{1, 3}));
    EXPECT_EQ(passed.ops.back().kind, c.convolution ? OpKind::conv2d : OpKind::matmul);
  }
}

TEST(FoldBatchNorm, NotIntoAKernelLargerThanTheOutput) {
  Graph graph = normalised({false, true, true}, 2);
  run_passes(graph);
  EXPECT_EQ(count_ops(graph, OpKind::batch_norm_inference_grad), 0u);
  EXPECT_EQ(count_ops(graph, OpKind::batch_norm_inference), 1u);
}

TEST(FoldBatchNorm, NotInTraining) {
  const Graph graph = after(
      training_graph({{8, 4}, {4, 3}, {3}, {3}},
                     [](GraphBuilder& b, const std::vector<ValueId>& p) {
                       const ValueId y = b.add(OpKind::matmul, MatMulAttributes{}, {p[0], p[1]}, "dense");
                       const ValueId one = b.constant({1, 1, 1}, "one");
                       return b.add(OpKind::batch_norm_inference, BatchNormAttributes{},
                                    {y, p[2], p[3], one, one}, "bn");
                     }),
      run_passes);
  EXPECT_EQ(count_ops(graph, OpKind::batch_norm_inference), 2u);  // one more for the gradient of gamma
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
