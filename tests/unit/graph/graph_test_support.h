// What the tests of lib/graph share: graphs of one loss over a few parameters, and their checks.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "lib/graph/graph.h"
#include "tests/unit/graph/reference_interpreter.h"

namespace stoker::graph::testing {

inline constexpr std::int64_t kBatch = 2;

// Uniform in [low, high); the same for the same seed.
reference::Tensor random_tensor(std::int64_t size, std::uint32_t seed, double low = -1, double high = 1);

// The ops between some parameters and what the loss sees.
using Body = std::function<ValueId(GraphBuilder&, const std::vector<ValueId>& parameters)>;

// A training graph: parameters of the given shapes, the body, its result flattened to (1, elements) under a
// mean squared error, and all its gradients; no pass has run.
Graph training_graph(const std::vector<Shape>& parameters, const Body& body);

// Random parameters, input and target for a graph.
reference::Arguments random_arguments(const Graph& graph, double low = -1, double high = 1);

// Expects each element of each parameter's gradient to be the central difference of the loss.
void expect_gradients_match_differences(const Graph& graph, const reference::Arguments& arguments);

// Expects both graphs to give the same statistics, gradients and output.
void expect_same_results(const Graph& a, const Graph& b, const reference::Arguments& arguments);

// expect_gradients_match_differences on training_graph, and the same results after run_passes.
void check_gradients(const std::vector<Shape>& parameters, const Body& body, double low = -1,
                     double high = 1);

std::size_t count_ops(const Graph& graph, OpKind kind);
// The only op of its kind.
const Op& find_op(const Graph& graph, OpKind kind);

}  // namespace stoker::graph::testing
