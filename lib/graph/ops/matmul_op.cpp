// matmul and its gradients.
#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

double product_flops(std::int64_t n, std::int64_t k, std::int64_t m) {
  return 2.0 * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(m);
}

std::vector<ValueType> matmul_outputs(const OpView& op) {
  const Shape &x = op.shape(0), &w = op.shape(1);
  op.require(x.rank() == 2 && w.rank() == 2 && x[1] == w[0], "input and kernel must be (n, k) and (k, m)");
  if (op.has(2)) op.require(op.shape(2) == Shape{w[1]}, "the bias does not fit");
  return {{Shape{x[0], w[1]}}};
}

std::vector<ValueType> grad_input_outputs(const OpView& op) {
  const Shape &dy = op.shape(0), &w = op.shape(1);
  op.require(dy.rank() == 2 && w.rank() == 2 && dy[1] == w[1], "dy and kernel must be (n, m) and (k, m)");
  return {{Shape{dy[0], w[0]}}};
}

std::vector<ValueType> grad_weights_outputs(const OpView& op) {
  const Shape &x = op.shape(0), &dy = op.shape(1);
  op.require(x.rank() == 2 && dy.rank() == 2 && x[0] == dy[0], "input and dy must be (n, k) and (n, m)");
  return {{Shape{x[1], dy[1]}}, {Shape{dy[1]}}};
}

void matmul_gradient(GradientContext& g) {
  const MatMulAttributes attributes = g.attributes<MatMulAttributes>();
  require_not_fused(attributes.activation, g.name());
  // Weights first: their gradient can travel while the input's is computed.
  if (g.wants(1)) {
    const auto d =
        g.add_many(OpKind::matmul_grad_weights, attributes, {g.input(0), g.dy()}, {true, g.wants(2)});
    g.give(1, d[0]);
    if (g.wants(2)) g.give(2, d[1]);
  } else if (g.wants(2)) {
    g.give(2, g.reduce_to(g.dy(), g.shape(g.input(2))));
  }
  if (g.wants(0)) g.give(0, g.add(OpKind::matmul_grad_input, attributes, {g.dy(), g.input(1)}));
}

}  // namespace

const OpDef kMatMul{
    OpKind::matmul,
    "matmul",
    2,
    3,
    matmul_outputs,
    1,
    [](const OpView& op) {
      const Shape &x = op.shape(0), &y = op.output_shape();
      const double per_element =
          (op.has(2) ? 1.0 : 0.0) + activation_flops(op.attributes<MatMulAttributes>().activation);
      return product_flops(x[0], x[1], y[1]) + per_element * static_cast<double>(y.elements());
    },
    matmul_gradient};

const OpDef kMatMulGradInput{
    OpKind::matmul_grad_input,
    "matmul_grad_input",
    2,
    2,
    grad_input_outputs,
    1,
    [](const OpView& op) { return product_flops(op.shape(0)[0], op.shape(0)[1], op.shape(1)[0]); },
    nullptr};

const OpDef kMatMulGradWeights{
    OpKind::matmul_grad_weights,
    "matmul_grad_weights",
    2,
    2,
    grad_weights_outputs,
    1,
    [](const OpView& op) { return product_flops(op.shape(0)[0], op.shape(0)[1], op.shape(1)[1]); },
    nullptr};

}  // namespace stoker::graph
