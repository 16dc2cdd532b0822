// What a device must offer to run graphs. lib/backend/cpu implements it with oneDNN; a CUDA backend is a
// module with the same interface, loaded at run time. Only trainer/ names a concrete backend.
//
// Thread-safety: one thread uses a Backend and its Programs (the compute thread); its number of compute
// threads is set for that thread. Nothing here allocates after compile().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace stoker::backend {

// What one run of a program works on. All pointers are device memory of the backend, aligned to 64 bytes, and
// stay the caller's. Sizes follow from the graph.
struct StepArguments {
  const void* input = nullptr;       // fp32 [n, …]
  const void* target = nullptr;      // int32 [n] or fp32 [n, …]; null in a graph without loss
  float* output = nullptr;           // in a graph whose prediction is bound to the output
  float* parameters = nullptr;       // ParameterLayout::total_size floats, read only
  float* gradients = nullptr;        // ParameterLayout::trainable_size floats, overwritten
  float* statistics = nullptr;       // Graph::statistics_size floats, overwritten
  std::byte* arena = nullptr;        // Program::arena_bytes()
  float loss_seed = 1.0f;            // 1 / weight of the whole global batch
  std::uint64_t seed = 0, step = 0;  // of the random numbers
  std::uint32_t leaf = 0;
};

// Called in the backward pass whenever gradients[0, ready) have their final values for this leaf (ready
// rises).
using GradientReady = std::function<void(std::int64_t ready)>;

struct OpTime {
  std::string op;              // kind and layer
  std::string implementation;  // "brgconv:avx512_core", "own", …
  double seconds = 0;
};

class Program {
 public:
  virtual ~Program() = default;
  virtual std::int64_t arena_bytes() const = 0;
  virtual const graph::Graph& graph() const = 0;

  // Blocking. Forward, loss and metrics (ops[0, forward_ops)), then the backward pass. No allocation, no
  // decisions.
  virtual void run_forward(const StepArguments& arguments) = 0;
  virtual void run_backward(const StepArguments& arguments, const GradientReady& ready) = 0;

  // Runs the whole step op by op and returns the name of the first op with an output that is not finite, if
  // any. Slow.
  virtual std::optional<std::string> find_non_finite(const StepArguments& arguments) = 0;
  // Runs the step and times each op. Slow.
  virtual std::vector<OpTime> profile(const StepArguments& arguments) = 0;
};

// Zeroed device memory; released in the destructor.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* data() const = 0;  // a device pointer
  virtual std::size_t bytes() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;         // "cpu"
  virtual std::string instruction_set() const = 0;  // what decides the bits: "avx512_core_amx", "sm_90", …
  virtual std::string description() const = 0;  // library, version, instruction set, threads
  virtual std::unique_ptr<Memory> allocate(std::size_t bytes) = 0;
  virtual void copy_to_device(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_to_host(void* host, const void* device, std::size_t bytes) = 0;
  // destination[i] += source[i]: the merges of the leaves' fixed tree.
  virtual void add(float* destination, const float* source, std::int64_t count) = 0;
  // Throws UserError when an op with these attributes is not to be had here, naming the layer.
  virtual std::unique_ptr<Program> compile(graph::Graph graph, const graph::ParameterLayout& layout) = 0;
};

}  // namespace stoker::backend
