// Element-wise activations and softmax with their gradients.
#include <stdexcept>

#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

std::vector<ValueType> same_as_first(const OpView& op) {
  op.require(op.dtype(0) == DType::f32, "the input must be fp32");
  return {{op.shape(0)}};
}

std::vector<ValueType> activation_grad_outputs(const OpView& op) {
  const auto& a = op.attributes<ActivationAttributes>();
  op.require(op.shape(0) == op.shape(1), "dy and z must have the same shape");
  op.require(!a.from_output || gradient_from_output(a), "its derivative does not follow from its output");
  return {{op.shape(0)}};
}

void activation_gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  ActivationAttributes attributes = g.attributes<ActivationAttributes>();
  attributes.from_output = gradient_from_output(attributes);
  const ValueId z = attributes.from_output ? g.output(0) : g.input(0);
  g.give(0, g.add(OpKind::activation_grad, attributes, {g.dy(), z}));
}

std::vector<ValueType> softmax_outputs(const OpView& op) {
  op.require(op.shape(0).rank() >= 2, "the input must have a batch and a class axis");
  return {{op.shape(0)}};
}

std::vector<ValueType> softmax_grad_outputs(const OpView& op) {
  op.require(op.shape(0) == op.shape(1), "dy and y must have the same shape");
  return {{op.shape(0)}};
}

void softmax_gradient(GradientContext& g) {
  if (g.wants(0)) g.give(0, g.add(OpKind::softmax_grad, NoAttributes{}, {g.dy(), g.output(0)}));
}

}  // namespace

bool gradient_from_output(const ActivationAttributes& activation) {
  switch (activation.kind) {
    case ActivationKind::linear:
    case ActivationKind::selu:
    case ActivationKind::sigmoid:
    case ActivationKind::hard_sigmoid:
    case ActivationKind::hard_sigmoid_v2:
    case ActivationKind::tanh:
    case ActivationKind::exponential:
      return true;
    case ActivationKind::elu:
      return activation.alpha >= 0;
    case ActivationKind::relu:
      // y > threshold exactly where x > threshold, and y ≥ max_value exactly where x ≥ max_value.
      return activation.alpha >= 0 && activation.threshold >= 0 &&
             activation.threshold < activation.max_value;
    case ActivationKind::gelu:  // not monotonic
    case ActivationKind::gelu_tanh:
    case ActivationKind::silu:
    case ActivationKind::mish:
    case ActivationKind::softplus:  // rounds to x, or to a y that has lost the derivative's digits
    case ActivationKind::softsign:
      return false;
  }
  return false;
}

double activation_flops(const ActivationAttributes& activation) {
  switch (activation.kind) {
    case ActivationKind::linear:
      return 0;
    case ActivationKind::relu:
    case ActivationKind::hard_sigmoid:
    case ActivationKind::hard_sigmoid_v2:
    case ActivationKind::softsign:
      return 2;
    default:
      return 8;
  }
}

void require_not_fused(const ActivationAttributes& activation, const std::string& name) {
  if (activation.kind != ActivationKind::linear)
    throw std::logic_error("'" + name + "': gradients are taken before activations are fused");
}

const OpDef kActivation{OpKind::activation,
                        "activation",
                        1,
                        1,
                        same_as_first,
                        1,
                        [](const OpView& op) {
                          return activation_flops(op.attributes<ActivationAttributes>()) *
                                 static_cast<double>(op.shape(0).elements());
                        },
                        activation_gradient,
                        true};

const OpDef kActivationGrad{OpKind::activation_grad,
                            "activation_grad",
                            2,
                            2,
                            activation_grad_outputs,
                            1,
                            [](const OpView& op) {
                              return (activation_flops(op.attributes<ActivationAttributes>()) + 1) *
                                     static_cast<double>(op.shape(0).elements());
                            },
                            nullptr,
                            true};

// Maximum, difference, exponential, sum, quotient.
const OpDef kSoftmax{OpKind::softmax,
                     "softmax",
                     1,
                     1,
                     softmax_outputs,
                     1,
                     [](const OpView& op) { return 12.0 * static_cast<double>(op.shape(0).elements()); },
                     softmax_gradient};

// y·(dy − Σ dy·y).
const OpDef kSoftmaxGrad{OpKind::softmax_grad,
                         "softmax_grad",
                         2,
                         2,
                         softmax_grad_outputs,
                         1,
                         [](const OpView& op) { return 4.0 * static_cast<double>(op.shape(0).elements()); },
                         nullptr};

}  // namespace stoker::graph
