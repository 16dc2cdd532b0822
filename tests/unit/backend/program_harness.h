// Runs a graph on the CPU with random parameters, inputs and targets, and hands back everything it wrote.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/backend/cpu/program_cpu.h"
#include "lib/graph/graph.h"
#include "lib/tensor/memory.h"
#include "tests/unit/graph/reference_interpreter.h"

namespace stoker::backend::cpu::test {

// A thread count and an instruction set: what may change the bits.
struct Setting {
  int threads;
  const Functions* functions;
};
// 1 thread with every instruction set of this machine, and 2 threads with the best.
std::vector<Setting> all_settings();
std::string to_string(const Setting& setting);

// What a graph works on.
// Random numbers use seed 7, step 3, leaf 1.
struct Data {
  std::vector<float> input, float_target, parameters;
  std::vector<std::int32_t> labels;
  float loss_seed = 1.0f;
};
struct Results {
  std::vector<float> output, gradients, statistics;
};

// Uniform values in [−1, 1), the same for the same seed.
std::vector<float> random_values(std::int64_t count, std::uint64_t seed);
// Fits the graph; labels are in [0, classes).
Data random_data(const graph::Graph& graph, const graph::ParameterLayout& layout, std::int64_t classes,
                 std::uint64_t seed);
// The layout of a graph in which every parameter trains; a graph without gradients has an empty one.
graph::ParameterLayout layout_of(const graph::Graph& graph);

class Harness {
 public:
  Harness(const graph::Graph& graph, const graph::ParameterLayout& layout, const Setting& setting);

  // Forward, and backward where the graph has gradients.
  Results run(const Data& data);
  StepArguments arguments(const Data& data);
  Program& program() { return *program_; }

 private:
  CpuBackend backend_;
  std::unique_ptr<Program> program_;
  HostBuffer arena_, parameters_, gradients_, statistics_, output_, input_, target_;
};

// What the reference interpreter gives for the same.
using Reference = graph::reference::Result;
Reference run_reference(const graph::Graph& graph, const graph::ParameterLayout& layout, const Data& data);

// Expects all gradients, statistics and the output to differ by at most `tolerance` times the largest value
// of the array.
void expect_close(const Results& results, const Reference& reference, const graph::ParameterLayout& layout,
                  double tolerance);

// Largest |a − b| / max(1, |b|); infinite where one is not finite or the sizes differ.
double largest_difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace stoker::backend::cpu::test
