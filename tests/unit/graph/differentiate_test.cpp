// What differentiate() appends, in which order, and where the gradients lie.
#include <gtest/gtest.h>

#include <stdexcept>

#include "tests/unit/graph/graph_test_support.h"

namespace stoker::graph::testing {
namespace {

ValueId dense(GraphBuilder& b, ValueId x, ValueId w) {
  return b.add(OpKind::matmul, MatMulAttributes{}, {x, w}, "dense");
}
ValueId relu(GraphBuilder& b, ValueId x) {
  return b.add(OpKind::activation, ActivationAttributes{.kind = ActivationKind::relu}, {x}, "relu");
}

// Three dense layers w0, w1, w2 of size 3 on the input, under a softmax and its cross-entropy.
Graph three_layers(std::int64_t batch, const std::vector<bool>& trainable) {
  GraphBuilder b(batch);
  ValueId x = b.input({3});
  for (std::int64_t k = 0; k < 3; ++k) x = dense(b, k == 0 ? x : relu(b, x), b.parameter(k, {3, 3}, "w"));
  const ValueId y = b.add(OpKind::softmax, NoAttributes{}, {x}, "softmax");
  b.add_loss({.kind = LossKind::sparse_categorical_crossentropy}, y, b.target({batch}, DType::i32), true);
  Graph graph = b.finish();
  differentiate(graph, trainable);
  return graph;
}

// No op but a view reads the memory of a gradient: it may be summed over ranks as soon as it is ready.
void expect_gradients_are_not_read(const Graph& graph) {
  for (const Op& op : graph.ops) {
    if (op.kind == OpKind::reshape) continue;
    for (const ValueId id : op.inputs) {
      if (id == kNoValue) continue;
      EXPECT_NE(graph.values[static_cast<std::size_t>(memory_root(graph, id))].role, Role::gradient)
          << to_string(graph);
    }
  }
}

TEST(Differentiate, LastLayersAreReadyFirst) {
  const Graph graph = three_layers(2, {true, true, true});
  EXPECT_EQ(graph.ready_order, (std::vector<std::int64_t>{2, 1, 0}));
  expect_gradients_match_differences(graph, random_arguments(graph));
  expect_gradients_are_not_read(graph);
  // The softmax has no part in the gradient, and the input gets none.
  EXPECT_EQ(count_ops(graph, OpKind::softmax_grad), 0u);
  EXPECT_EQ(count_ops(graph, OpKind::matmul_grad_input), 2u);
  EXPECT_EQ(graph.forward_ops, 7u);
}

TEST(Differentiate, ReadyOrderDoesNotDependOnTheBatch) {
  const std::vector<bool> trainable{true, false, true};
  EXPECT_EQ(three_layers(1, trainable).ready_order, three_layers(64, trainable).ready_order);
}

TEST(Differentiate, NothingIsComputedForFrozenParameters) {
  const Graph last = three_layers(2, {false, false, true});
  EXPECT_EQ(count_ops(last, OpKind::matmul_grad_weights), 1u);
  EXPECT_EQ(count_ops(last, OpKind::matmul_grad_input), 0u);
  const Graph first = three_layers(2, {true, false, false});
  EXPECT_EQ(count_ops(first, OpKind::matmul_grad_weights), 1u);
  EXPECT_EQ(count_ops(first, OpKind::matmul_grad_input), 2u);
  EXPECT_EQ(first.ready_order, (std::vector<std::int64_t>{0}));
  const Graph none = three_layers(2, {false, false, false});
  EXPECT_EQ(none.ops.size(), none.forward_ops);
}

TEST(Differentiate, SharedParametersAreReadyAfterTheirFirstUse) {
  GraphBuilder b(2);
  const ValueId w = b.parameter(0, {3, 3}, "shared"), v = b.parameter(1, {3, 3}, "middle");
  ValueId x = relu(b, dense(b, b.input({3}), w));
  x = relu(b, dense(b, x, v));
  x = dense(b, x, w);
  b.add_loss({.kind = LossKind::mean_squared_error}, x, b.target({2, 3}, DType::f32), true);
  Graph graph = b.finish();
  differentiate(graph, {true, true});
  EXPECT_EQ(graph.ready_order, (std::vector<std::int64_t>{1, 0}));
  expect_gradients_match_differences(graph, random_arguments(graph));
  expect_gradients_are_not_read(graph);
  // The sum itself is written to the gradient buffer.
  const Op& sum = find_op(graph, OpKind::binary);
  EXPECT_EQ(graph.values[static_cast<std::size_t>(sum.outputs[0])].role, Role::gradient);
}

TEST(Differentiate, ValuesWithSeveralReadersAddTheirGradients) {
  check_gradients({{2, 3}, {3, 3}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
    const ValueId h = relu(b, dense(b, p[0], p[1]));
    const ValueId doubled = b.add(OpKind::binary, BinaryAttributes{}, {h, h}, "h+h");
    const ValueId branch =
        b.add(OpKind::binary, BinaryAttributes{.kind = BinaryKind::multiply, .activation = {}},
              {dense(b, h, p[1]), doubled}, "product");
    return b.add(OpKind::binary, BinaryAttributes{}, {branch, h}, "residual");
  });
}

TEST(Differentiate, GradientsPassedThroughAreCopied) {
  // dy itself is the gradient of p0, p1 and of the layer behind: none may share its memory.
  const Graph graph =
      training_graph({{2, 3}, {2, 3}, {3, 3}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
        const ValueId sum = b.add(OpKind::binary, BinaryAttributes{}, {p[0], p[1]}, "sum");
        return b.add(OpKind::binary, BinaryAttributes{}, {sum, dense(b, p[0], p[2])}, "sum2");
      });
  expect_gradients_match_differences(graph, random_arguments(graph));
  expect_gradients_are_not_read(graph);
  int gradients = 0;
  for (const Value& value : graph.values) gradients += value.role == Role::gradient && value.producer >= 0;
  EXPECT_EQ(gradients, 3);
}

TEST(Differentiate, ReshapedParametersGetTheirGradientInPlace) {
  const Graph graph = training_graph({{2, 3}, {9}}, [](GraphBuilder& b, const std::vector<ValueId>& p) {
    return dense(b, p[0], b.add_shaped(OpKind::reshape, NoAttributes{}, {p[1]}, {3, 3}, "kernel"));
  });
  EXPECT_EQ(count_ops(graph, OpKind::scale), 0u);
  expect_gradients_match_differences(graph, random_arguments(graph));
}

TEST(Differentiate, UnreachableParametersGetZero) {
  GraphBuilder b(2);
  const ValueId used = b.parameter(1, {3, 3}, "used"), dead = b.parameter(2, {3, 3}, "dead");
  b.parameter(0, {5}, "unread");
  const ValueId x = b.input({3});
  dense(b, x, dead);  // goes nowhere
  b.add_loss({.kind = LossKind::mean_squared_error}, dense(b, x, used), b.target({2, 3}, DType::f32), true);
  Graph graph = b.finish();
  differentiate(graph, {true, true, true});
  run_passes(graph);
  EXPECT_EQ(graph.ready_order, (std::vector<std::int64_t>{1, 2, 0}));
  const reference::Result result = reference::run(graph, random_arguments(graph));
  EXPECT_EQ(result.gradients[0], reference::Tensor(5, 0.0));
  EXPECT_EQ(result.gradients[2], reference::Tensor(9, 0.0));
}

// From the probabilities, which are clipped here, there would be none.
TEST(Differentiate, LogitsBehindASoftmaxGetTheLossesGradient) {
  GraphBuilder b(1);
  const ValueId y = b.add(OpKind::softmax, NoAttributes{}, {b.parameter(0, {1, 3}, "logits")}, "softmax");
  b.add_loss({.kind = LossKind::sparse_categorical_crossentropy}, y, b.target({1}, DType::i32), true);
  Graph graph = b.finish();
  differentiate(graph, {true});
  const reference::Result result =
      reference::run(graph, {.input = {}, .target = {1}, .parameters = {{60, 0, 0}}});
  EXPECT_NEAR(result.statistic(graph, "loss"), 60, 1e-9);
  EXPECT_NEAR(result.gradients[0][0], 1, 1e-9);
  EXPECT_NEAR(result.gradients[0][1], -1, 1e-9);
}

TEST(Differentiate, MistakesAreRefused) {
  Graph no_loss = GraphBuilder(2).finish();
  EXPECT_THROW(differentiate(no_loss, {}), std::logic_error);
  EXPECT_THROW(three_layers(2, {true, true}), std::logic_error);              // parameter 2 is not named
  EXPECT_THROW(three_layers(2, {true, true, true, true}), std::logic_error);  // parameter 3 has no value
  MatMulAttributes fused;
  fused.activation.kind = ActivationKind::tanh;
  EXPECT_THROW(training_graph({{2, 3}, {3, 3}},
                              [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                                return b.add(OpKind::matmul, fused, p, "fused");
                              }),
               std::logic_error);
  EXPECT_THROW(training_graph({{2, 3}, {3}},
                              [&](GraphBuilder& b, const std::vector<ValueId>& p) {
                                return b.add(OpKind::affine, NoAttributes{}, p, "affine");
                              }),
               std::logic_error);
}

}  // namespace
}  // namespace stoker::graph::testing
