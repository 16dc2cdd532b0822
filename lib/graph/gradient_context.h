// What the gradient rule of an op (OpDef::gradient) works with: it reads the forward op and the gradient of
// its first output, appends ops, and gives each input that wants one its gradient.
#pragma once

#include <vector>

#include "lib/graph/graph.h"
#include "lib/graph/op_table.h"

namespace stoker::graph {

class GradientContext {
 public:
  // `op`: index of the forward op. `wanted`: by forward value, whether it gets a gradient. `gradients`: by
  // value, what has been given so far, or kNoValue.
  GradientContext(Graph& graph, std::size_t op, const std::vector<bool>& wanted,
                  std::vector<ValueId>& gradients)
      : graph_(graph), op_(op), wanted_(wanted), gradients_(gradients) {}

  const std::string& name() const { return graph_.ops[op_].name; }
  template <typename T>
  const T& attributes() const {
    return OpView(graph_, graph_.ops[op_]).attributes<T>();
  }
  std::size_t input_count() const { return graph_.ops[op_].inputs.size(); }
  ValueId input(std::size_t k) const;  // kNoValue where absent
  ValueId output(std::size_t k);       // added to the op where absent
  ValueId dy() const { return gradient_of(graph_.ops[op_].outputs[0]); }
  Shape shape(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].shape; }

  bool wants(std::size_t k) const;  // whether input k is there and wants its gradient
  // Adds `gradient`, of input k's shape, to what input k has been given.
  void give(std::size_t k, ValueId gradient);

  ValueId add(OpKind kind, Attributes attributes, std::vector<ValueId> inputs);
  ValueId add_shaped(OpKind kind, Attributes attributes, std::vector<ValueId> inputs, const Shape& shape);
  // outputs[k]: whether output k is wanted; kNoValue stands for the others in what is returned.
  std::vector<ValueId> add_many(OpKind kind, Attributes attributes, std::vector<ValueId> inputs,
                                std::vector<bool> outputs, const Shape* given_shape = nullptr);
  // Sums `gradient` over the axes along which a value of shape `shape` was broadcast; itself if none.
  ValueId reduce_to(ValueId gradient, const Shape& shape);

 private:
  ValueId gradient_of(ValueId id) const;

  Graph& graph_;
  std::size_t op_;
  const std::vector<bool>& wanted_;
  std::vector<ValueId>& gradients_;
};

}  // namespace stoker::graph
