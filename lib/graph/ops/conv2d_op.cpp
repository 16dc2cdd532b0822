// conv2d and its gradients.
#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

std::int64_t output_extent(std::int64_t extent, std::int64_t padding, std::int64_t kernel,
                           std::int64_t stride, std::int64_t dilation) {
  const std::int64_t free = extent + padding - ((kernel - 1) * dilation + 1);
  return free < 0 ? 0 : free / stride + 1;
}

// The shape of y from those of x and w; checks all three against each other.
Shape convolved(const OpView& op, const Shape& x, const Shape& w) {
  const auto& a = op.attributes<Conv2DAttributes>();
  op.require(x.rank() == 4 && w.rank() == 4, "input and kernel must have 4 axes");
  op.require(a.stride_h > 0 && a.stride_w > 0 && a.dilation_h > 0 && a.dilation_w > 0 && a.groups > 0,
             "strides, dilations and groups must be positive");
  op.require(x[3] == w[2] * a.groups && w[3] % a.groups == 0,
             "channels do not fit the kernel and the groups");
  const Shape y{x[0], output_extent(x[1], a.padding.top + a.padding.bottom, w[0], a.stride_h, a.dilation_h),
                output_extent(x[2], a.padding.left + a.padding.right, w[1], a.stride_w, a.dilation_w), w[3]};
  op.require(y[1] > 0 && y[2] > 0, "the kernel is larger than the padded input");
  return y;
}

// Per output element a multiply-add for each weight of its group.
double convolution_flops(const Shape& y, const Shape& w) {
  return 2.0 * static_cast<double>(y.elements()) * static_cast<double>(w[0] * w[1] * w[2]);
}

std::vector<ValueType> conv2d_outputs(const OpView& op) {
  const Shape y = convolved(op, op.shape(0), op.shape(1));
  if (op.has(2)) op.require(op.shape(2) == Shape{y[3]}, "the bias does not fit");
  return {{y}};
}

std::vector<ValueType> grad_input_outputs(const OpView& op) {
  const Shape& x = op.given_shape();
  op.require(convolved(op, x, op.shape(1)) == op.shape(0), "dy does not fit");
  return {{x}};
}

std::vector<ValueType> grad_weights_outputs(const OpView& op) {
  const Shape& w = op.given_shape();
  op.require(convolved(op, op.shape(0), w) == op.shape(1), "dy does not fit");
  return {{w}, {Shape{w[3]}}};
}

void conv2d_gradient(GradientContext& g) {
  const auto& a = g.attributes<Conv2DAttributes>();
  require_not_fused(a.activation, g.name());
  const Conv2DAttributes attributes = a;
  // Weights first: their gradient can travel while the input's is computed.
  if (g.wants(1)) {
    const Shape w = g.shape(g.input(1));
    const auto d =
        g.add_many(OpKind::conv2d_grad_weights, attributes, {g.input(0), g.dy()}, {true, g.wants(2)}, &w);
    g.give(1, d[0]);
    if (g.wants(2)) g.give(2, d[1]);
  } else if (g.wants(2)) {
    g.give(2, g.reduce_to(g.dy(), g.shape(g.input(2))));
  }
  if (g.wants(0))
    g.give(0, g.add_shaped(OpKind::conv2d_grad_input, attributes, {g.dy(), g.input(1)}, g.shape(g.input(0))));
}

}  // namespace

const OpDef kConv2D{
    OpKind::conv2d,
    "conv2d",
    2,
    3,
    conv2d_outputs,
    1,
    [](const OpView& op) {
      const Shape& y = op.output_shape();
      const double per_element =
          (op.has(2) ? 1.0 : 0.0) + activation_flops(op.attributes<Conv2DAttributes>().activation);
      return convolution_flops(y, op.shape(1)) + per_element * static_cast<double>(y.elements());
    },
    conv2d_gradient};

const OpDef kConv2DGradInput{OpKind::conv2d_grad_input,
                             "conv2d_grad_input",
                             2,
                             2,
                             grad_input_outputs,
                             1,
                             [](const OpView& op) { return convolution_flops(op.shape(0), op.shape(1)); },
                             nullptr};

const OpDef kConv2DGradWeights{
    OpKind::conv2d_grad_weights,
    "conv2d_grad_weights",
    2,
    2,
    grad_weights_outputs,
    1,
    [](const OpView& op) { return convolution_flops(op.shape(1), op.output_shape()); },
    nullptr};

}  // namespace stoker::graph
