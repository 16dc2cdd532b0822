// The meaning of every op (lib/graph/op.h) as plain loops in double precision: slow, and simple enough to be
// believed. Gradients are checked against its finite differences, and backends against its values.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/graph/graph.h"

namespace stoker::graph::reference {

using Tensor = std::vector<double>;  // row-major, the shape is that of its Value

// What backend::StepArguments is to a backend.
struct Arguments {
  Tensor input, target;
  std::vector<Tensor> parameters;  // by index, Keras layout
  double loss_seed = 1;
  std::uint64_t seed = 0, step = 0;
  std::uint32_t leaf = 0;
};

struct Result {
  std::vector<Tensor> values;     // by ValueId; empty for values that nothing in the graph produced
  std::vector<Tensor> gradients;  // by parameter index; empty where the graph computes none
  Tensor statistics, output;
  double statistic(const Graph& graph, const std::string& name, std::int64_t element = 0) const;
};

// Runs the ops in their order. Throws std::logic_error where an argument does not fit the graph, or an op
// reads what none before it produced.
Result run(const Graph& graph, const Arguments& arguments);

// Runs one op: reads `values` of its inputs, writes those of its outputs. `values` is indexed by ValueId.
void run_op(const Graph& graph, const Op& op, const Arguments& arguments, std::vector<Tensor>& values);

}  // namespace stoker::graph::reference
