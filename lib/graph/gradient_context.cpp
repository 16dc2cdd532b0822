#include "lib/graph/gradient_context.h"

namespace stoker::graph {

ValueId GradientContext::input(std::size_t k) const {
  const std::vector<ValueId>& inputs = graph_.ops[op_].inputs;
  return k < inputs.size() ? inputs[k] : kNoValue;
}

ValueId GradientContext::output(std::size_t k) {
  const std::vector<ValueId>& outputs = graph_.ops[op_].outputs;
  return k < outputs.size() && outputs[k] != kNoValue ? outputs[k] : append_output(graph_, op_, k);
}

bool GradientContext::wants(std::size_t k) const {
  const ValueId id = input(k);
  return id != kNoValue && wanted_[static_cast<std::size_t>(id)];
}

ValueId GradientContext::gradient_of(ValueId id) const {
  const std::size_t index = static_cast<std::size_t>(id);
  return index < gradients_.size() ? gradients_[index] : kNoValue;
}

void GradientContext::give(std::size_t k, ValueId gradient) {
  ValueId& sum = gradients_[static_cast<std::size_t>(input(k))];
  OpView(graph_, graph_.ops[op_])
      .require(shape(gradient) == shape(input(k)), "the gradient of an input has another shape");
  sum = sum == kNoValue ? gradient : add(OpKind::binary, BinaryAttributes{}, {sum, gradient});
}

ValueId GradientContext::add(OpKind kind, Attributes attributes, std::vector<ValueId> inputs) {
  return add_many(kind, std::move(attributes), std::move(inputs), {true})[0];
}

ValueId GradientContext::add_shaped(OpKind kind, Attributes attributes, std::vector<ValueId> inputs,
                                    const Shape& shape) {
  return add_many(kind, std::move(attributes), std::move(inputs), {true}, &shape)[0];
}

std::vector<ValueId> GradientContext::add_many(OpKind kind, Attributes attributes,
                                               std::vector<ValueId> inputs, std::vector<bool> outputs,
                                               const Shape* given_shape) {
  return append_op(graph_,
                   {kind, std::move(attributes), std::move(inputs), name(), std::move(outputs), given_shape});
}

ValueId GradientContext::reduce_to(ValueId gradient, const Shape& shape) {
  if (this->shape(gradient) == shape) return gradient;
  return add_shaped(OpKind::reduce_to_shape, NoAttributes{}, {gradient}, shape);
}

}  // namespace stoker::graph
