#include "lib/graph/op_table.h"

#include <stdexcept>

#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

// In the order of OpKind.
const OpDef* const kOps[] = {
    &kConv2D,
    &kConv2DGradInput,
    &kConv2DGradWeights,
    &kMatMul,
    &kMatMulGradInput,
    &kMatMulGradWeights,
    &kPool2D,
    &kPool2DGrad,
    &kGlobalPool,
    &kGlobalPoolGrad,
    &kActivation,
    &kActivationGrad,
    &kSoftmax,
    &kSoftmaxGrad,
    &kBatchNorm,
    &kBatchNormGrad,
    &kBatchNormInference,
    &kBatchNormInferenceGrad,
    &kBinary,
    &kReduceToShape,
    &kScale,
    &kAffine,
    &kConcat,
    &kSlice,
    &kPad2D,
    &kReshape,
    &kDropout,
    &kFill,
    &kLoss,
    &kMetric,
};
static_assert(std::size(kOps) == static_cast<std::size_t>(OpKind::count_));

ValueId append_value(Graph& graph, const ValueType& type, std::size_t producer, std::size_t output) {
  const Op& op = graph.ops[producer];
  Value value;
  value.name = op.name + "/" + name_of(op.kind) + (output == 0 ? "" : ":" + std::to_string(output));
  value.shape = type.shape;
  value.dtype = type.dtype;
  value.producer = static_cast<std::int32_t>(producer);
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

}  // namespace

const OpDef& definition_of(OpKind kind) { return *kOps[static_cast<std::size_t>(kind)]; }

std::string name_of(OpKind kind) { return definition_of(kind).name; }

bool OpView::has(std::size_t input) const {
  return input < op_.inputs.size() && op_.inputs[input] != kNoValue;
}

const Shape& OpView::shape(std::size_t input) const {
  require(has(input), "input " + std::to_string(input) + " is missing");
  return graph_.values[static_cast<std::size_t>(op_.inputs[input])].shape;
}

DType OpView::dtype(std::size_t input) const {
  require(has(input), "input " + std::to_string(input) + " is missing");
  return graph_.values[static_cast<std::size_t>(op_.inputs[input])].dtype;
}

bool OpView::has_output(std::size_t output) const {
  return output < op_.outputs.size() && op_.outputs[output] != kNoValue;
}

const Shape& OpView::output_shape(std::size_t output) const {
  require(has_output(output), "output " + std::to_string(output) + " is missing");
  return graph_.values[static_cast<std::size_t>(op_.outputs[output])].shape;
}

const Shape& OpView::given_shape() const {
  require(given_shape_ != nullptr, "the shape of its output must be given");
  return *given_shape_;
}

void OpView::require(bool condition, std::string_view what_is_wrong) const {
  if (condition) return;
  std::string message = name_of(op_.kind) + " '" + op_.name + "': " + std::string(what_is_wrong) + "; inputs";
  for (const ValueId id : op_.inputs)
    message += " " + (id == kNoValue ? "-" : to_string(graph_.values[static_cast<std::size_t>(id)].shape));
  throw std::logic_error(message);
}

std::vector<ValueId> append_op(Graph& graph, const OpRequest& request) {
  const OpDef& definition = definition_of(request.kind);
  Op op{request.kind, request.attributes, request.inputs, {}, request.name};
  const OpView view(graph, op, request.given_shape);
  view.require(op.inputs.size() >= definition.min_inputs && op.inputs.size() <= definition.max_inputs,
               "wrong number of inputs");
  for (const ValueId id : op.inputs)
    view.require(id >= kNoValue && id < static_cast<ValueId>(graph.values.size()), "an input is no value");
  const std::vector<ValueType> types = definition.outputs(view);
  view.require(request.outputs.size() <= types.size(), "too many outputs asked for");

  graph.ops.push_back(std::move(op));
  const std::size_t index = graph.ops.size() - 1;
  std::vector<ValueId> outputs;
  for (std::size_t k = 0; k < request.outputs.size(); ++k)
    outputs.push_back(request.outputs[k] ? append_value(graph, types[k], index, k) : kNoValue);
  graph.ops[index].outputs = outputs;
  return outputs;
}

ValueId append_output(Graph& graph, std::size_t op, std::size_t output) {
  const Op& existing = graph.ops[op];
  const OpView view(graph, existing);
  const std::vector<ValueType> types = definition_of(existing.kind).outputs(view);
  view.require(output < types.size(), "it has no such output");
  const ValueId id = append_value(graph, types[output], op, output);
  std::vector<ValueId>& outputs = graph.ops[op].outputs;
  if (outputs.size() <= output) outputs.resize(output + 1, kNoValue);
  outputs[output] = id;
  return id;
}

Cost cost_of(const Graph& graph, const Op& op) {
  if (op.kind == OpKind::reshape) return {};
  Cost cost;
  cost.flops = definition_of(op.kind).flops(OpView(graph, op));
  for (const std::vector<ValueId>* ids : {&op.inputs, &op.outputs})
    for (const ValueId id : *ids) {
      if (id == kNoValue) continue;
      const Value& value = graph.values[static_cast<std::size_t>(id)];
      cost.bytes += static_cast<double>(value.shape.elements()) * static_cast<double>(size_of(value.dtype));
    }
  return cost;
}

}  // namespace stoker::graph
