#include "lib/backend/cpu/program_cpu.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "lib/backend/cpu/conv_pool.h"
#include "lib/base/error.h"

namespace stoker::backend::cpu {

using graph::OpKind;
using graph::Role;
using graph::ValueId;

namespace {

std::string title_of(const graph::Op& op) {
  return op.name.empty() ? graph::name_of(op.kind) : graph::name_of(op.kind) + " " + op.name;
}

// Moves the inputs of a pair's first op to the second and drops the value between them.
void join(graph::Graph& graph, const Fusion& pair) {
  graph::Op &first = graph.ops[pair.first], &second = graph.ops[pair.second];
  const ValueId between = first.outputs[0];
  std::erase(second.inputs, between);
  second.inputs.insert(second.inputs.end(), first.inputs.begin(), first.inputs.end());
  first.inputs.clear();
  first.outputs.clear();
  graph.values[static_cast<std::size_t>(between)].producer = -1;
}

}  // namespace

CpuProgram::CpuProgram(graph::Graph graph, const graph::ParameterLayout& layout, const Functions& functions,
                       const dnnl::engine& engine, const dnnl::stream& stream, int threads)
    : graph_(std::move(graph)),
      planned_(graph_),
      fusions_(find_fusions(graph_)),
      functions_(functions),
      threads_(threads) {
  for (const Fusion& fusion : fusions_)
    if (fusion.is_one_kernel()) join(planned_, fusion);
  make_kernels(engine, stream);
  std::vector<std::size_t> scratch_bytes;
  for (const Step& step : steps_) scratch_bytes.push_back(step.kernel ? step.kernel->scratch_bytes() : 0);
  plan_ = graph::plan_memory(planned_, scratch_bytes);
  const std::vector<std::int64_t> ready = graph::gradients_ready(graph_, layout);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i].scratch_offset = std::max<std::int64_t>(plan_.scratch_offset[i], 0);
    steps_[i].ready = ready[i];
  }

  addresses_.reserve(graph_.values.size());
  for (std::size_t id = 0; id < graph_.values.size(); ++id)
    addresses_.push_back(address_of(static_cast<ValueId>(id), layout));
  pointers_.resize(graph_.values.size());
  for (Step& step : steps_) {
    const graph::Op& op = graph_.ops[step.op];
    if (op.kind != OpKind::reshape) continue;
    const Address from = addresses_[static_cast<std::size_t>(op.inputs[0])],
                  to = addresses_[static_cast<std::size_t>(op.outputs[0])];
    if (from.base == to.base && from.offset == to.offset) step.kernel.reset();
  }
}

void CpuProgram::make_kernels(const dnnl::engine& engine, const dnnl::stream& stream) {
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const graph::Op& op = graph_.ops[i];
    try {
      steps_.push_back({make_kernel({graph_, op, functions_, engine, stream}), i, title_of(op), 0, 0});
    } catch (const dnnl::error& e) {
      throw UserError("oneDNN has no implementation of " + graph::name_of(op.kind) + " (" + e.what() + ")",
                      op.name, "change the shapes or options of this layer, or use a newer oneDNN");
    }
  }
  for (const Fusion& fusion : fusions_) {
    if (!fusion.is_one_kernel()) continue;
    Step &first = steps_[fusion.first], &second = steps_[fusion.second];
    second.title = first.title + " + " + second.title;
  }
}

std::unique_ptr<Kernel> CpuProgram::make_kernel(const CompileContext& context) {
  const auto index = static_cast<std::size_t>(&context.op - graph_.ops.data());
  for (const Fusion& fusion : fusions_) {
    if (fusion.first != index && fusion.second != index) continue;
    const bool is_first = fusion.first == index;
    const graph::Op& first = graph_.ops[fusion.first];
    switch (fusion.kind) {
      case FusionKind::conv_pool:
        return is_first ? nullptr : make_conv_pool(context, first);
      case FusionKind::conv_pool_gradient:
        return is_first ? nullptr : make_conv_pool_grad_weights(context, first);
      case FusionKind::relu_after_pool:
        return is_first ? make_conv2d_without_activation(context) : make_pool2d_with_relu(context);
    }
  }
  return factory_of(context.op.kind)(context);
}

CpuProgram::Address CpuProgram::address_of(ValueId id, const graph::ParameterLayout& layout) const {
  const graph::Value& value = planned_.values[static_cast<std::size_t>(id)];
  constexpr std::int64_t kFloat = sizeof(float);
  const auto range = [&] { return layout.ranges.at(static_cast<std::size_t>(value.index)).offset * kFloat; };
  switch (value.role) {
    case Role::input:
      return {Base::input, 0};
    case Role::target:
      return {Base::target, 0};
    case Role::parameter:
      return {Base::parameters, range()};
    case Role::gradient:
      return {Base::gradients, range()};
    case Role::statistic:
      return {Base::statistics, value.index * kFloat};
    case Role::output:
      return {Base::output, 0};
    case Role::constant:
      return {Base::constants, value.index};
    case Role::activation:
      break;
  }
  const std::int64_t offset = plan_.value_offset.at(static_cast<std::size_t>(id));
  if (offset >= 0) return {Base::arena, offset};
  const ValueId root = graph::memory_root(planned_, id);
  if (root != id) return address_of(root, layout);
  // A pass may leave a value that no op makes or reads, so does a pair that runs as one.
  if (value.producer >= 0) throw std::logic_error("no memory was planned for " + value.name);
  return {Base::arena, 0};
}

void CpuProgram::bind(const StepArguments& arguments) {
  if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
  std::byte* bases[static_cast<std::size_t>(Base::count_)] = {};
  const auto set = [&](Base base, const void* pointer) {
    bases[static_cast<std::size_t>(base)] = static_cast<std::byte*>(const_cast<void*>(pointer));
  };
  set(Base::input, arguments.input);
  set(Base::target, arguments.target);
  set(Base::parameters, arguments.parameters);
  set(Base::gradients, arguments.gradients);
  set(Base::statistics, arguments.statistics);
  set(Base::output, arguments.output);
  set(Base::arena, arguments.arena);
  for (std::size_t id = 0; id < addresses_.size(); ++id) {
    const Address& a = addresses_[id];
    if (a.base == Base::constants)
      pointers_[id] =
          reinterpret_cast<std::byte*>(graph_.constants[static_cast<std::size_t>(a.offset)].data());
    else
      pointers_[id] = bases[static_cast<std::size_t>(a.base)] + a.offset;
  }
}

void CpuProgram::run_step(const Step& step, const StepArguments& arguments) {
  if (step.kernel) step.kernel->run({pointers_.data(), arguments.arena + step.scratch_offset, &arguments});
}

void CpuProgram::run_forward(const StepArguments& arguments) {
  bind(arguments);
  for (std::size_t i = 0; i < graph_.forward_ops; ++i) run_step(steps_[i], arguments);
}

void CpuProgram::run_backward(const StepArguments& arguments, const GradientReady& ready) {
  bind(arguments);
  std::int64_t reported = 0;
  for (std::size_t i = graph_.forward_ops; i < steps_.size(); ++i) {
    run_step(steps_[i], arguments);
    if (!ready || steps_[i].ready <= reported) continue;
    reported = steps_[i].ready;
    ready(reported);
  }
}

bool CpuProgram::outputs_are_finite(const graph::Op& op) const {
  for (const ValueId id : op.outputs) {
    if (id == graph::kNoValue) continue;
    const graph::Value& value = graph_.values[static_cast<std::size_t>(id)];
    if (value.dtype != DType::f32) continue;
    const auto* x = reinterpret_cast<const float*>(pointers_[static_cast<std::size_t>(id)]);
    if (!functions_.all_finite(x, value.shape.elements())) return false;
  }
  return true;
}

std::optional<std::string> CpuProgram::find_non_finite(const StepArguments& arguments) {
  bind(arguments);
  for (const Step& step : steps_) {
    run_step(step, arguments);
    if (!outputs_are_finite(planned_.ops[step.op])) return step.title;
  }
  return std::nullopt;
}

std::vector<OpTime> CpuProgram::profile(const StepArguments& arguments) {
  using Clock = std::chrono::steady_clock;
  bind(arguments);
  std::vector<OpTime> times;
  for (const Step& step : steps_) {
    const auto start = Clock::now();
    run_step(step, arguments);
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    if (step.kernel) times.push_back({step.title, step.kernel->implementation(), elapsed.count()});
  }
  return times;
}

}  // namespace stoker::backend::cpu
