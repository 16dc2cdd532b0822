#include <fmt/format.h>

#include "lib/graph/graph.h"

namespace stoker::graph {
namespace {

std::string role_prefix(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::target:
      return "target";
    case Role::parameter:
      return "parameter";
    case Role::gradient:
      return "gradient";
    case Role::statistic:
      return "statistic";
    case Role::output:
      return "output";
    case Role::constant:
      return "constant";
    case Role::activation:
      return "";
  }
  return "";
}

// "%7 (8, 10)", "%3=parameter[2] (10,)".
std::string describe(const Graph& graph, ValueId id) {
  if (id == kNoValue) return "-";
  const Value& value = graph.values[static_cast<std::size_t>(id)];
  std::string text = fmt::format("%{}", id);
  if (value.role != Role::activation) text += fmt::format("={}[{}]", role_prefix(value.role), value.index);
  if (value.dtype != DType::f32) text += fmt::format(" {}", name_of(value.dtype));
  return text + " " + to_string(value.shape);
}

std::string describe(const Graph& graph, const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + describe(graph, id);
  return text;
}

}  // namespace

ValueId memory_root(const Graph& graph, ValueId id) {
  for (;;) {
    const std::int32_t producer = graph.values[static_cast<std::size_t>(id)].producer;
    if (producer < 0) return id;
    const Op& op = graph.ops[static_cast<std::size_t>(producer)];
    if (op.kind != OpKind::reshape) return id;
    id = op.inputs[0];
  }
}

std::vector<std::vector<std::size_t>> readers_of(const Graph& graph) {
  std::vector<std::vector<std::size_t>> readers(graph.values.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    for (const ValueId id : graph.ops[i].inputs) {
      if (id == kNoValue) continue;
      std::vector<std::size_t>& of = readers[static_cast<std::size_t>(id)];
      if (of.empty() || of.back() != i) of.push_back(i);
    }
  return readers;
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (i == graph.forward_ops) text += "backward\n";
    const Op& op = graph.ops[i];
    text += fmt::format("{:4} {} '{}': {} -> {}\n", i, name_of(op.kind), op.name, describe(graph, op.inputs),
                        describe(graph, op.outputs));
  }
  return text;
}

}  // namespace stoker::graph
