#include "tests/unit/graph/reference_interpreter.h"

#include <stdexcept>

#include "tests/unit/graph/reference_ops.h"

namespace stoker::graph::reference {
namespace {

// In the order of OpKind.
void (*const kRun[])(OpRun&) = {
    conv2d,
    conv2d_grad_input,
    conv2d_grad_weights,
    matmul,
    matmul_grad_input,
    matmul_grad_weights,
    pool2d,
    pool2d_grad,
    global_pool,
    global_pool_grad,
    activation,
    activation_grad,
    softmax,
    softmax_grad,
    batch_norm,
    batch_norm_grad,
    batch_norm_inference,
    batch_norm_inference_grad,
    binary,
    reduce_to_shape,
    scale,
    affine,
    concat,
    slice,
    pad2d,
    reshape,
    dropout,
    fill,
    loss,
    metric,
};
static_assert(std::size(kRun) == static_cast<std::size_t>(OpKind::count_));

Tensor source(const Graph& graph, const Value& value, const Arguments& arguments) {
  Tensor tensor;
  const std::size_t index = value.index < 0 ? 0 : static_cast<std::size_t>(value.index);
  switch (value.role) {
    case Role::input:
      tensor = arguments.input;
      break;
    case Role::target:
      tensor = arguments.target;
      break;
    case Role::parameter:
      tensor = arguments.parameters.at(index);
      break;
    case Role::constant:
      tensor.assign(graph.constants[index].begin(), graph.constants[index].end());
      break;
    default:
      return {};
  }
  if (tensor.size() != static_cast<std::size_t>(value.shape.elements()))
    throw std::logic_error("'" + value.name + "' is given with another size");
  return tensor;
}

// Copies the values that leave the graph to where a backend would write them.
void collect(const Graph& graph, Result& result) {
  result.statistics.assign(static_cast<std::size_t>(graph.statistics_size), 0.0);
  for (std::size_t id = 0; id < graph.values.size(); ++id) {
    const Value& value = graph.values[id];
    if (value.producer < 0) continue;
    const Tensor& tensor = result.values[id];
    const std::size_t index = value.index < 0 ? 0 : static_cast<std::size_t>(value.index);
    if (value.role == Role::output) result.output = tensor;
    if (value.role == Role::statistic)
      std::copy(tensor.begin(), tensor.end(), result.statistics.begin() + static_cast<std::ptrdiff_t>(index));
    if (value.role == Role::gradient) {
      if (result.gradients.size() <= index) result.gradients.resize(index + 1);
      result.gradients[index] = tensor;
    }
  }
}

}  // namespace

double Result::statistic(const Graph& graph, const std::string& name, std::int64_t element) const {
  for (const Statistic& entry : graph.statistics)
    if (entry.name == name) return statistics.at(static_cast<std::size_t>(entry.offset + element));
  throw std::logic_error("there is no statistic '" + name + "'");
}

void run_op(const Graph& graph, const Op& op, const Arguments& arguments, std::vector<Tensor>& values) {
  OpRun op_run(graph, op, arguments, values);
  kRun[static_cast<std::size_t>(op.kind)](op_run);
}

Result run(const Graph& graph, const Arguments& arguments) {
  Result result;
  for (const Value& value : graph.values) result.values.push_back(source(graph, value, arguments));
  for (const Op& op : graph.ops) {
    for (const ValueId id : op.inputs)
      if (id != kNoValue && result.values[static_cast<std::size_t>(id)].empty())
        throw std::logic_error("'" + op.name + "' reads a value that nothing produced");
    run_op(graph, op, arguments, result.values);
  }
  collect(graph, result);
  return result;
}

}  // namespace stoker::graph::reference
