// The reference interpreter's ops, by family.
#pragma once

#include "tests/unit/graph/reference_interpreter.h"

namespace stoker::graph::reference {

// One op being run.
class OpRun {
 public:
  OpRun(const Graph& graph, const Op& op, const Arguments& run_arguments, std::vector<Tensor>& values)
      : arguments(run_arguments), graph_(graph), op_(op), values_(values) {}

  bool has(std::size_t i) const { return i < op_.inputs.size() && op_.inputs[i] != kNoValue; }
  bool has_output(std::size_t k) const { return k < op_.outputs.size() && op_.outputs[k] != kNoValue; }
  const Tensor& in(std::size_t i) const { return values_[static_cast<std::size_t>(op_.inputs[i])]; }
  const Shape& in_shape(std::size_t i) const { return shape(op_.inputs[i]); }
  const Shape& out_shape(std::size_t k = 0) const { return shape(op_.outputs[k]); }
  // Zeros; what is written to an output that the op lacks goes nowhere.
  Tensor& out(std::size_t k = 0) {
    Tensor& tensor = has_output(k) ? values_[static_cast<std::size_t>(op_.outputs[k])] : unused_;
    if (has_output(k)) tensor.assign(static_cast<std::size_t>(out_shape(k).elements()), 0.0);
    return tensor;
  }
  std::size_t input_count() const { return op_.inputs.size(); }
  template <typename T>
  const T& attributes() const {
    return std::get<T>(op_.attributes);
  }

  const Arguments& arguments;

 private:
  const Shape& shape(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)].shape; }

  const Graph& graph_;
  const Op& op_;
  std::vector<Tensor>& values_;
  Tensor unused_;
};

double activate(const ActivationAttributes& activation, double x);
// The derivative at z, which is the output if from_output.
double activation_derivative(const ActivationAttributes& activation, double z);

void conv2d(OpRun& op);
void conv2d_grad_input(OpRun& op);
void conv2d_grad_weights(OpRun& op);
void matmul(OpRun& op);
void matmul_grad_input(OpRun& op);
void matmul_grad_weights(OpRun& op);
void pool2d(OpRun& op);
void pool2d_grad(OpRun& op);
void global_pool(OpRun& op);
void global_pool_grad(OpRun& op);

void activation(OpRun& op);
void activation_grad(OpRun& op);
void binary(OpRun& op);
void reduce_to_shape(OpRun& op);
void scale(OpRun& op);
void affine(OpRun& op);
void concat(OpRun& op);
void slice(OpRun& op);
void pad2d(OpRun& op);
void reshape(OpRun& op);
void dropout(OpRun& op);
void fill(OpRun& op);

void softmax(OpRun& op);
void softmax_grad(OpRun& op);
void batch_norm(OpRun& op);
void batch_norm_grad(OpRun& op);
void batch_norm_inference(OpRun& op);
void batch_norm_inference_grad(OpRun& op);

void loss(OpRun& op);
void metric(OpRun& op);

}  // namespace stoker::graph::reference
