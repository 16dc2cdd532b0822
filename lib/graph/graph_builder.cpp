#include <algorithm>
#include <stdexcept>

#include "lib/graph/graph.h"
#include "lib/graph/op_table.h"

namespace stoker::graph {
namespace {

ValueId append_source(Graph& graph, Value value) {
  graph.values.push_back(std::move(value));
  return static_cast<ValueId>(graph.values.size() - 1);
}

bool has_statistic(const Graph& graph, const std::string& name) {
  return std::any_of(graph.statistics.begin(), graph.statistics.end(),
                     [&](const Statistic& statistic) { return statistic.name == name; });
}

// Makes `id`, a fresh value of an op, the new statistic `name`.
void bind_to_statistic(Graph& graph, ValueId id, const std::string& name) {
  if (has_statistic(graph, name)) throw std::logic_error("the statistic '" + name + "' is there already");
  Value& value = graph.values[static_cast<std::size_t>(id)];
  value.role = Role::statistic;
  value.index = graph.statistics_size;
  const std::int64_t size = value.shape.elements();
  graph.statistics.push_back({name, graph.statistics_size, size});
  graph.statistics_size += size;
}

// What a cross-entropy of probabilities is to be computed from: the logits behind the softmax or sigmoid that
// made them, whichever of the two and whichever cross-entropy, as Keras does. kNoValue if there is none.
ValueId logits_behind(const Graph& graph, LossKind kind, ValueId prediction) {
  const bool cross_entropy = kind == LossKind::categorical_crossentropy ||
                             kind == LossKind::binary_crossentropy ||
                             kind == LossKind::sparse_categorical_crossentropy;
  const std::int32_t producer = graph.values[static_cast<std::size_t>(prediction)].producer;
  if (!cross_entropy || producer < 0) return kNoValue;
  const Op& op = graph.ops[static_cast<std::size_t>(producer)];
  const bool sigmoid = op.kind == OpKind::activation &&
                       std::get<ActivationAttributes>(op.attributes).kind == ActivationKind::sigmoid;
  return op.kind == OpKind::softmax || sigmoid ? op.inputs[0] : kNoValue;
}

}  // namespace

GraphBuilder::GraphBuilder(std::int64_t batch) {
  if (batch < 1) throw std::logic_error("a graph needs a batch of at least 1");
  graph_.batch = batch;
}

ValueId GraphBuilder::input(const Shape& shape_without_batch) {
  for (const Value& value : graph_.values)
    if (value.role == Role::input) throw std::logic_error("a graph has one input");
  return append_source(graph_,
                       {"input", shape_without_batch.with_batch(graph_.batch), DType::f32, Role::input, 0});
}

ValueId GraphBuilder::target(const Shape& shape_with_batch, DType dtype) {
  return append_source(graph_, {"target", shape_with_batch, dtype, Role::target, 0});
}

ValueId GraphBuilder::parameter(std::int64_t index, const Shape& shape, const std::string& name) {
  for (std::size_t id = 0; id < graph_.values.size(); ++id) {
    const Value& value = graph_.values[id];
    if (value.role != Role::parameter || value.index != index) continue;
    if (value.shape != shape) throw std::logic_error("parameter '" + name + "' is used with another shape");
    return static_cast<ValueId>(id);
  }
  return append_source(graph_, {name, shape, DType::f32, Role::parameter, index});
}

ValueId GraphBuilder::constant(std::vector<float> data, const std::string& name) {
  const Shape shape{static_cast<std::int64_t>(data.size())};
  graph_.constants.push_back(std::move(data));
  return append_source(graph_, {name, shape, DType::f32, Role::constant,
                                static_cast<std::int64_t>(graph_.constants.size() - 1)});
}

ValueId GraphBuilder::add(OpKind kind, Attributes attributes, std::vector<ValueId> inputs,
                          const std::string& name) {
  return add_many(kind, std::move(attributes), std::move(inputs), 1, name)[0];
}

std::vector<ValueId> GraphBuilder::add_many(OpKind kind, Attributes attributes, std::vector<ValueId> inputs,
                                            std::size_t outputs, const std::string& name) {
  const auto* dropout = std::get_if<DropoutAttributes>(&attributes);
  const auto* activation = std::get_if<ActivationAttributes>(&attributes);
  const bool does_nothing =
      (kind == OpKind::dropout && dropout && dropout->rate == 0) ||
      (kind == OpKind::activation && activation && activation->kind == ActivationKind::linear);
  if (does_nothing && inputs.size() == 1 && outputs == 1) return inputs;
  return append_op(graph_,
                   {kind, std::move(attributes), std::move(inputs), name, std::vector<bool>(outputs, true)});
}

ValueId GraphBuilder::add_shaped(OpKind kind, Attributes attributes, std::vector<ValueId> inputs,
                                 const Shape& shape, const std::string& name) {
  return append_op(graph_, {kind, std::move(attributes), std::move(inputs), name, {true}, &shape})[0];
}

void GraphBuilder::add_statistic(ValueId x, float factor, const std::string& name) {
  bind_to_statistic(graph_, add(OpKind::scale, ScaleAttributes{factor}, {x}, name), name);
}

void GraphBuilder::moving_statistic(ValueId x, std::int64_t parameter, float momentum,
                                    const std::string& name) {
  std::string unique = name;
  for (int call = 2; has_statistic(graph_, unique); ++call) unique = name + "#" + std::to_string(call);
  add_statistic(x, static_cast<float>(graph_.batch), unique);
  const Statistic& statistic = graph_.statistics.back();
  graph_.moving_statistics.push_back({parameter, statistic.offset, statistic.size, momentum});
}

ValueId GraphBuilder::add_loss(const LossAttributes& loss, ValueId prediction, ValueId target,
                               bool training) {
  LossAttributes attributes = loss;
  ValueId from = prediction;
  if (const ValueId logits = logits_behind(graph_, loss.kind, prediction); logits != kNoValue) {
    attributes.from_logits = true;
    from = logits;
  }
  const std::vector<ValueId> outputs =
      add_many(OpKind::loss, attributes, {from, target}, training ? 2 : 1, "loss");
  bind_to_statistic(graph_, outputs[0], "loss");
  return training ? outputs[1] : kNoValue;
}

void GraphBuilder::add_metric(const MetricAttributes& metric, ValueId prediction, ValueId target,
                              const std::string& name) {
  const std::string statistic = "metric/" + name;
  bind_to_statistic(graph_, add(OpKind::metric, metric, {prediction, target}, statistic), statistic);
}

void GraphBuilder::set_output(ValueId prediction, bool bind_to_output) {
  graph_.prediction = prediction;
  if (!bind_to_output) return;
  ValueId root = memory_root(graph_, prediction);
  if (graph_.values[static_cast<std::size_t>(root)].role != Role::activation) {
    root = add(OpKind::scale, ScaleAttributes{1.0f}, {prediction}, "output");
    graph_.prediction = root;
  }
  Value& value = graph_.values[static_cast<std::size_t>(root)];
  value.role = Role::output;
  value.index = 0;
}

Graph GraphBuilder::finish() {
  graph_.forward_ops = graph_.ops.size();
  return std::move(graph_);
}

}  // namespace stoker::graph
