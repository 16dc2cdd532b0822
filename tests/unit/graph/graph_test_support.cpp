#include "tests/unit/graph/graph_test_support.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace stoker::graph::testing {
namespace {

void expect_near(const reference::Tensor& a, const reference::Tensor& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-12 * (1 + std::abs(a[i]))) << what << i;
}

}  // namespace

reference::Tensor random_tensor(std::int64_t size, std::uint32_t seed, double low, double high) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> draw(low, high);
  reference::Tensor tensor(static_cast<std::size_t>(size));
  for (double& x : tensor) x = draw(engine);
  return tensor;
}

Graph training_graph(const std::vector<Shape>& parameters, const Body& body) {
  GraphBuilder builder(kBatch);
  std::vector<ValueId> ids;
  for (std::size_t k = 0; k < parameters.size(); ++k)
    ids.push_back(builder.parameter(static_cast<std::int64_t>(k), parameters[k], "p" + std::to_string(k)));
  const ValueId result = body(builder, ids);
  const Shape flat{1, builder.shape(result).elements()};
  const ValueId prediction = builder.add_shaped(OpKind::reshape, NoAttributes{}, {result}, flat, "flatten");
  const ValueId target = builder.target(flat, DType::f32);
  builder.add_loss({.kind = LossKind::mean_squared_error}, prediction, target, true);
  Graph graph = builder.finish();
  differentiate(graph, std::vector<bool>(parameters.size(), true));
  return graph;
}

reference::Arguments random_arguments(const Graph& graph, double low, double high) {
  reference::Arguments arguments;
  std::uint32_t seed = 7;
  for (const Value& value : graph.values) {
    const std::int64_t size = value.shape.elements();
    if (value.role == Role::input) arguments.input = random_tensor(size, ++seed, low, high);
    if (value.role == Role::parameter) {
      const std::size_t index = static_cast<std::size_t>(value.index);
      if (arguments.parameters.size() <= index) arguments.parameters.resize(index + 1);
      arguments.parameters[index] = random_tensor(size, ++seed, low, high);
    }
    if (value.role == Role::target) {
      arguments.target = random_tensor(size, ++seed, 0, 1);
      if (value.dtype == DType::i32)
        for (double& label : arguments.target) label = std::floor(label * 3);
    }
  }
  arguments.loss_seed = 0.75;
  arguments.seed = 3;
  arguments.step = 5;
  arguments.leaf = 1;
  return arguments;
}

void expect_gradients_match_differences(const Graph& graph, const reference::Arguments& arguments) {
  constexpr double kStep = 1e-5, kTolerance = 2e-7;
  const reference::Result result = reference::run(graph, arguments);
  reference::Arguments moved = arguments;
  for (std::size_t k = 0; k < arguments.parameters.size(); ++k) {
    ASSERT_LT(k, result.gradients.size());
    ASSERT_EQ(result.gradients[k].size(), arguments.parameters[k].size());
    for (std::size_t i = 0; i < arguments.parameters[k].size(); ++i) {
      double& x = moved.parameters[k][i];
      const double start = x;
      x = start + kStep;
      const double above = reference::run(graph, moved).statistic(graph, "loss");
      x = start - kStep;
      const double below = reference::run(graph, moved).statistic(graph, "loss");
      x = start;
      const double difference = arguments.loss_seed * (above - below) / (2 * kStep);
      EXPECT_NEAR(result.gradients[k][i], difference, kTolerance * (1 + std::abs(difference)))
          << "parameter " << k << ", element " << i << " at " << start << "\n"
          << to_string(graph);
    }
  }
}

void expect_same_results(const Graph& a, const Graph& b, const reference::Arguments& arguments) {
  const reference::Result x = reference::run(a, arguments), y = reference::run(b, arguments);
  expect_near(x.statistics, y.statistics, "statistic ");
  expect_near(x.output, y.output, "output ");
  ASSERT_EQ(x.gradients.size(), y.gradients.size());
  for (std::size_t k = 0; k < x.gradients.size(); ++k)
    expect_near(x.gradients[k], y.gradients[k], "gradient " + std::to_string(k) + ", element ");
}

void check_gradients(const std::vector<Shape>& parameters, const Body& body, double low, double high) {
  const Graph graph = training_graph(parameters, body);
  const reference::Arguments arguments = random_arguments(graph, low, high);
  expect_gradients_match_differences(graph, arguments);
  Graph passed = graph;
  run_passes(passed);
  expect_same_results(graph, passed, arguments);
}

std::size_t count_ops(const Graph& graph, OpKind kind) {
  return static_cast<std::size_t>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) { return op.kind == kind; }));
}

const Op& find_op(const Graph& graph, OpKind kind) {
  EXPECT_EQ(count_ops(graph, kind), 1u) << name_of(kind) << "\n" << to_string(graph);
  return *std::find_if(graph.ops.begin(), graph.ops.end(), [&](const Op& op) { return op.kind == kind; });
}

}  // namespace stoker::graph::testing
