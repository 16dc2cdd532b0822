// pool2d and global_pool with their gradients.
#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

constexpr std::int64_t kMaxArgmaxCells = 255;  // argmax is one byte

Shape pooled(const OpView& op, const Shape& x) {
  const auto& a = op.attributes<Pool2DAttributes>();
  op.require(x.rank() == 4, "the input must have 4 axes");
  op.require(a.window_h > 0 && a.window_w > 0 && a.stride_h > 0 && a.stride_w > 0,
             "windows and strides must be positive");
  // A window that lies in the padding alone would have no cell to take a maximum or mean of.
  op.require(a.padding.top < a.window_h && a.padding.bottom < a.window_h && a.padding.left < a.window_w &&
                 a.padding.right < a.window_w,
             "the padding is as large as the window");
  const std::int64_t free_h = x[1] + a.padding.top + a.padding.bottom - a.window_h;
  const std::int64_t free_w = x[2] + a.padding.left + a.padding.right - a.window_w;
  op.require(free_h >= 0 && free_w >= 0, "the window is larger than the padded input");
  return Shape{x[0], free_h / a.stride_h + 1, free_w / a.stride_w + 1, x[3]};
}

double window_flops(const OpView& op, const Shape& y) {
  const auto& a = op.attributes<Pool2DAttributes>();
  return static_cast<double>(y.elements()) * static_cast<double>(a.window_h * a.window_w);
}

std::vector<ValueType> pool2d_outputs(const OpView& op) {
  const auto& a = op.attributes<Pool2DAttributes>();
  const Shape y = pooled(op, op.shape(0));
  if (!a.is_max || a.window_h * a.window_w > kMaxArgmaxCells) return {{y}};
  return {{y}, {y, DType::u8}};
}

std::vector<ValueType> pool2d_grad_outputs(const OpView& op) {
  const auto& a = op.attributes<Pool2DAttributes>();
  const Shape y = pooled(op, op.given_shape());
  op.require(op.shape(0) == y, "dy does not fit");
  op.require(op.has(1) == a.is_max, "argmax is for max pools, which need it");
  if (op.has(1)) op.require(op.shape(1) == y && op.dtype(1) == DType::u8, "argmax does not fit");
  if (op.has(2)) op.require(a.is_max && op.shape(2) == y, "y does not fit");
  return {{op.given_shape()}};
}

void pool2d_gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Pool2DAttributes attributes = g.attributes<Pool2DAttributes>();
  const ValueId argmax = attributes.is_max ? g.output(1) : kNoValue;
  g.give(0, g.add_shaped(OpKind::pool2d_grad, attributes, {g.dy(), argmax}, g.shape(g.input(0))));
}

Shape globally_pooled(const OpView& op, const Shape& x) {
  op.require(x.rank() >= 3, "the input must have axes between batch and channels");
  return Shape{x[0], x.back()};
}

std::vector<ValueType> global_pool_outputs(const OpView& op) { return {{globally_pooled(op, op.shape(0))}}; }

std::vector<ValueType> global_pool_grad_outputs(const OpView& op) {
  const Shape& x = op.given_shape();
  op.require(op.shape(0) == globally_pooled(op, x), "dy does not fit");
  const bool is_max = op.attributes<GlobalPoolAttributes>().is_max;
  op.require(op.has(1) == is_max && op.has(2) == is_max, "x and y are for the maximum, which needs them");
  if (is_max) op.require(op.shape(1) == x && op.shape(2) == op.shape(0), "x and y do not fit");
  return {{x}};
}

void global_pool_gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const GlobalPoolAttributes attributes = g.attributes<GlobalPoolAttributes>();
  std::vector<ValueId> inputs{g.dy()};
  if (attributes.is_max) inputs.insert(inputs.end(), {g.input(0), g.output(0)});
  g.give(0, g.add_shaped(OpKind::global_pool_grad, attributes, inputs, g.shape(g.input(0))));
}

}  // namespace

const OpDef kPool2D{OpKind::pool2d,
                    "pool2d",
                    1,
                    1,
                    pool2d_outputs,
                    1,
                    [](const OpView& op) { return window_flops(op, op.output_shape()); },
                    pool2d_gradient};

// The maximum's gradient goes to one cell, the average's to all of the window.
const OpDef kPool2DGrad{OpKind::pool2d_grad,
                        "pool2d_grad",
                        1,
                        3,
                        pool2d_grad_outputs,
                        1,
                        [](const OpView& op) {
                          return op.attributes<Pool2DAttributes>().is_max
                                     ? static_cast<double>(op.shape(0).elements())
                                     : window_flops(op, op.shape(0));
                        },
                        nullptr};

const OpDef kGlobalPool{OpKind::global_pool,
                        "global_pool",
                        1,
                        1,
                        global_pool_outputs,
                        1,
                        [](const OpView& op) { return static_cast<double>(op.shape(0).elements()); },
                        global_pool_gradient};

const OpDef kGlobalPoolGrad{
    OpKind::global_pool_grad,
    "global_pool_grad",
    1,
    3,
    global_pool_grad_outputs,
    1,
    [](const OpView& op) { return static_cast<double>(op.output_shape().elements()); },
    nullptr};

}  // namespace stoker::graph
