// The CPU's Program: a list of kernels bound to one arena. Internal to lib/backend/cpu and its tests.
#pragma once

#include <memory>
#include <vector>

#include "lib/backend/backend.h"
#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/op_fusion.h"

namespace stoker::backend::cpu {

class CpuProgram final : public Program {
 public:
  // Throws UserError when oneDNN lacks an implementation, naming the layer; std::logic_error on a graph that
  // breaks the rules of op.h.
  CpuProgram(graph::Graph graph, const graph::ParameterLayout& layout, const Functions& functions,
             const dnnl::engine& engine, const dnnl::stream& stream, int threads);

  std::int64_t arena_bytes() const override { return plan_.arena_bytes; }
  const graph::Graph& graph() const override { return graph_; }
  void run_forward(const StepArguments& arguments) override;
  void run_backward(const StepArguments& arguments, const GradientReady& ready) override;
  std::optional<std::string> find_non_finite(const StepArguments& arguments) override;
  std::vector<OpTime> profile(const StepArguments& arguments) override;

 private:
  enum class Base : std::uint8_t {
    input,
    target,
    parameters,
    gradients,
    statistics,
    output,
    constants,
    arena,
    count_
  };
  struct Address {
    Base base;
    std::int64_t offset;  // bytes; of a constant, its index
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;  // null for views, and for the first op of a pair that runs as one
    std::size_t op;
    std::string title;
    std::int64_t scratch_offset;
    std::int64_t ready;  // gradients [0, ready) are final after this step
  };

  Address address_of(graph::ValueId id, const graph::ParameterLayout& layout) const;
  void bind(const StepArguments& arguments);
  void run_step(const Step& step, const StepArguments& arguments);
  bool outputs_are_finite(const graph::Op& op) const;
  void make_kernels(const dnnl::engine& engine, const dnnl::stream& stream);
  std::unique_ptr<Kernel> make_kernel(const CompileContext& context);

  graph::Graph graph_;
  // What the memory is planned for: of a pair that runs as one kernel, the first op has no inputs and
  // outputs, and the second reads what the first did.
  graph::Graph planned_;
  std::vector<Fusion> fusions_;
  const Functions& functions_;
  int threads_;
  graph::MemoryPlan plan_;
  std::vector<Step> steps_;  // one an op
  std::vector<Address> addresses_;
  std::vector<std::byte*> pointers_;  // of this run, by ValueId
};

class CpuBackend final : public Backend {
 public:
  CpuBackend(int threads, const Functions& functions);

  std::string name() const override { return "cpu"; }
  std::string instruction_set() const override;  // oneDNN's and our own kernels': "avx512_core_amx+avx512"
  std::string description() const override;
  std::unique_ptr<Memory> allocate(std::size_t bytes) override;
  void copy_to_device(void* device, const void* host, std::size_t bytes) override;
  void copy_to_host(void* host, const void* device, std::size_t bytes) override;
  void add(float* destination, const float* source, std::int64_t count) override;
  std::unique_ptr<Program> compile(graph::Graph graph, const graph::ParameterLayout& layout) override;

 private:
  int threads_;
  const Functions& functions_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

}  // namespace stoker::backend::cpu
