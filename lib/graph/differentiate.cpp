// Reverse mode: walks the forward ops from the last to the first and lets each give its inputs their
// gradients.
#include <algorithm>
#include <stdexcept>

#include "lib/graph/gradient_context.h"
#include "lib/graph/graph.h"
#include "lib/graph/op_table.h"

namespace stoker::graph {
namespace {

bool is_training_loss(const Op& op) { return op.kind == OpKind::loss && op.outputs.size() > 1; }

class BackwardPass {
 public:
  BackwardPass(Graph& graph, const std::vector<bool>& trainable)
      : graph_(graph), trainable_(trainable), forward_values_(graph.values.size()) {
    graph_.forward_ops = graph_.ops.size();
    graph_.ready_order.clear();
    gradients_.assign(forward_values_, kNoValue);
    find_wanted();
    find_parameters();
  }

  void run() {
    for (std::size_t i = graph_.forward_ops; i-- > 0;) {
      differentiate_op(i);
      // These have been used: what they hold may become the gradient of a parameter.
      for (const ValueId id : graph_.ops[i].outputs)
        if (id != kNoValue && static_cast<std::size_t>(id) < forward_values_)
          gradients_[static_cast<std::size_t>(id)] = kNoValue;
      for (const ValueId parameter : first_read_[i]) finish_parameter(parameter);
    }
    for (const ValueId parameter : unread_) finish_parameter(parameter);
  }

 private:
  bool is_trainable(const Value& value) const {
    if (value.role != Role::parameter) return false;
    const std::size_t index = static_cast<std::size_t>(value.index);
    if (index >= trainable_.size())
      throw std::logic_error("'" + value.name + "': not told whether it trains");
    return trainable_[index];
  }

  // A value wants a gradient if a trainable parameter is behind it.
  void find_wanted() {
    wanted_.assign(forward_values_, false);
    for (std::size_t id = 0; id < forward_values_; ++id) wanted_[id] = is_trainable(graph_.values[id]);
    for (const Op& op : graph_.ops) {
      const bool wanted = std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
        return id != kNoValue && wanted_[static_cast<std::size_t>(id)];
      });
      for (const ValueId id : op.outputs)
        if (id != kNoValue) wanted_[static_cast<std::size_t>(id)] = wanted;
    }
  }

  // By op: whether a training loss depends on it.
  std::vector<bool> find_ops_of_loss() const {
    std::vector<bool> of_loss(graph_.ops.size(), false), reaches(forward_values_, false);
    for (std::size_t i = graph_.ops.size(); i-- > 0;) {
      const Op& op = graph_.ops[i];
      of_loss[i] = is_training_loss(op) || std::any_of(op.outputs.begin(), op.outputs.end(), [&](ValueId id) {
                     return id != kNoValue && reaches[static_cast<std::size_t>(id)];
                   });
      if (!of_loss[i]) continue;
      for (const ValueId id : op.inputs)
        if (id != kNoValue) reaches[static_cast<std::size_t>(id)] = true;
    }
    return of_loss;
  }

  // Going backwards, a parameter's gradient is complete after the op that reads it first.
  void find_parameters() {
    first_read_.resize(graph_.ops.size());
    const std::vector<bool> of_loss = find_ops_of_loss();
    std::vector<bool> seen(forward_values_, false), has_value(trainable_.size(), false);
    for (std::size_t i = 0; i < graph_.ops.size(); ++i)
      for (const ValueId id : graph_.ops[i].inputs) {
        if (!of_loss[i]) break;
        if (id == kNoValue || seen[static_cast<std::size_t>(id)]) continue;
        seen[static_cast<std::size_t>(id)] = true;
        if (is_trainable(graph_.values[static_cast<std::size_t>(id)])) first_read_[i].push_back(id);
      }
    for (std::size_t id = 0; id < forward_values_; ++id) {
      const Value& value = graph_.values[id];
      if (!is_trainable(value)) continue;
      has_value[static_cast<std::size_t>(value.index)] = true;
      if (!seen[id]) unread_.push_back(static_cast<ValueId>(id));
    }
    for (std::size_t k = 0; k < trainable_.size(); ++k)
      if (trainable_[k] && !has_value[k])
        throw std::logic_error("trainable parameter " + std::to_string(k) + " has no value in the graph");
  }

  void differentiate_op(std::size_t index) {
    const Op& op = graph_.ops[index];
    for (std::size_t k = 1; k < op.outputs.size(); ++k)
      if (op.outputs[k] != kNoValue && gradients_[static_cast<std::size_t>(op.outputs[k])] != kNoValue)
        throw std::logic_error("'" + op.name + "': only the first output of an op can have a gradient");
    if (!is_training_loss(op) && gradients_[static_cast<std::size_t>(op.outputs[0])] == kNoValue) return;
    const OpDef& definition = definition_of(op.kind);
    if (definition.gradient == nullptr)
      throw std::logic_error(std::string(definition.name) + " '" + op.name + "' has no gradient");
    GradientContext context(graph_, index, wanted_, gradients_);
    definition.gradient(context);
  }

  // Binds the gradient of a parameter to the gradient buffer: the op that completes it writes there itself,
  // unless others read its output too, who must not find it changed by the sum over ranks.
  void finish_parameter(ValueId parameter) {
    const Value value = graph_.values[static_cast<std::size_t>(parameter)];
    const std::string name = value.name + "/gradient";
    ValueId gradient = gradients_[static_cast<std::size_t>(parameter)];
    if (gradient == kNoValue) {
      gradient =
          append_op(graph_, {OpKind::fill, ScaleAttributes{0.0f}, {}, value.name, {true}, &value.shape})[0];
    } else if (!belongs_to_alone(gradient, parameter)) {
      gradient = append_op(graph_, {OpKind::scale, ScaleAttributes{1.0f}, {gradient}, value.name})[0];
    }
    Value& root = graph_.values[static_cast<std::size_t>(memory_root(graph_, gradient))];
    root.role = Role::gradient;
    root.index = value.index;
    root.name = name;
    graph_.ready_order.push_back(value.index);
  }

  // Whether the memory of `gradient` was written by a backward op, is read by none, and is the gradient of
  // nothing but `parameter`.
  bool belongs_to_alone(ValueId gradient, ValueId parameter) const {
    const ValueId root = memory_root(graph_, gradient);
    const Value& value = graph_.values[static_cast<std::size_t>(root)];
    if (value.role != Role::activation || value.producer < static_cast<std::int32_t>(graph_.forward_ops))
      return false;
    for (std::size_t id = 0; id < gradients_.size(); ++id)
      if (static_cast<ValueId>(id) != parameter && gradients_[id] != kNoValue &&
          memory_root(graph_, gradients_[id]) == root)
        return false;
    for (std::size_t i = graph_.forward_ops; i < graph_.ops.size(); ++i)
      for (const ValueId id : graph_.ops[i].inputs)
        if (id != kNoValue && graph_.ops[i].kind != OpKind::reshape && memory_root(graph_, id) == root)
          return false;
    return true;
  }

  Graph& graph_;
  const std::vector<bool>& trainable_;
  const std::size_t forward_values_;
  std::vector<bool> wanted_;                      // by forward value
  std::vector<ValueId> gradients_;                // by forward value
  std::vector<std::vector<ValueId>> first_read_;  // by forward op: the trainable parameters it reads first
  std::vector<ValueId> unread_;
};

}  // namespace

void differentiate(Graph& graph, const std::vector<bool>& trainable) {
  if (std::none_of(graph.ops.begin(), graph.ops.end(), is_training_loss))
    throw std::logic_error("a graph without a training loss cannot be differentiated");
  BackwardPass(graph, trainable).run();
}

}  // namespace stoker::graph
