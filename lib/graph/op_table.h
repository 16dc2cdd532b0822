// What lib/graph knows of each OpKind, as one explicit table: shapes, FLOPs, gradient, in-place. The entries
// are in ops/*.cpp, one file per family.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/graph/graph.h"

namespace stoker::graph {

class GradientContext;

struct ValueType {
  Shape shape;
  DType dtype = DType::f32;
};

// One op as its rules see it. Everything that is not as it should be throws std::logic_error with the op's
// kind and name.
class OpView {
 public:
  // `given_shape`: of the first output, for kinds where it does not follow from the inputs; may be null.
  OpView(const Graph& graph, const Op& op, const Shape* given_shape = nullptr)
      : graph_(graph), op_(op), given_shape_(given_shape) {}

  std::size_t input_count() const { return op_.inputs.size(); }
  bool has(std::size_t input) const;
  const Shape& shape(std::size_t input) const;
  DType dtype(std::size_t input) const;
  // Of an appended op.
  bool has_output(std::size_t output) const;
  const Shape& output_shape(std::size_t output = 0) const;
  const Shape& given_shape() const;

  template <typename T>
  const T& attributes() const {
    const T* attributes = std::get_if<T>(&op_.attributes);
    require(attributes != nullptr, "its attributes are of another kind");
    return *attributes;
  }
  void require(bool condition, std::string_view what_is_wrong) const;

 private:
  const Graph& graph_;
  const Op& op_;
  const Shape* given_shape_;
};

struct OpDef {
  OpKind kind;
  const char* name;
  std::size_t min_inputs, max_inputs;  // absent ones at the end included
  // Checks inputs and attributes; the types of all outputs that the op can have.
  std::vector<ValueType> (*outputs)(const OpView& op);
  std::size_t required_outputs;  // the first ones; the rest may be absent
  double (*flops)(const OpView& op);
  // Gives the inputs' gradients from the first output's (gradient_context.h). Null where there is none.
  void (*gradient)(GradientContext& context);
  bool element_wise = false;  // its first output may overwrite an input of the same shape
};

const OpDef& definition_of(OpKind kind);

// An op to be appended.
struct OpRequest {
  OpKind kind;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::string name;
  std::vector<bool> outputs{true};     // which outputs it shall have
  const Shape* given_shape = nullptr;  // see OpView
};
// Appends the op and its output values (kNoValue for outputs not asked for); checks by the table.
std::vector<ValueId> append_op(Graph& graph, const OpRequest& request);

// Adds output `output`, absent so far, to op `op`.
ValueId append_output(Graph& graph, std::size_t op, std::size_t output);

}  // namespace stoker::graph
