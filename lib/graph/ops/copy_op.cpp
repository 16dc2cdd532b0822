// Ops that move numbers and compute nothing: concat, slice, pad2d, reshape.
#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

constexpr std::size_t kAnyNumber = static_cast<std::size_t>(-1);

double no_flops(const OpView&) { return 0; }

std::vector<ValueType> concat_outputs(const OpView& op) {
  const std::size_t axis = op.attributes<ConcatAttributes>().axis;
  Shape y = op.shape(0);
  op.require(axis < y.rank(), "there is no such axis");
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    Shape x = op.shape(i);
    op.require(x.rank() == y.rank(), "the inputs differ in their number of axes");
    y[axis] += x[axis];
    x[axis] = y[axis];
    op.require(x == y, "the inputs differ outside the axis");
  }
  return {{y}};
}

void concat_gradient(GradientContext& g) {
  const std::size_t axis = g.attributes<ConcatAttributes>().axis;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    const Shape x = g.shape(g.input(i));
    SliceAttributes part{std::vector<std::int64_t>(x.rank(), 0), x.dims()};
    part.begin[axis] = begin;
    begin += x[axis];
    if (g.wants(i)) g.give(i, g.add(OpKind::slice, part, {g.dy()}));
  }
}

std::vector<ValueType> slice_outputs(const OpView& op) {
  const auto& a = op.attributes<SliceAttributes>();
  const Shape& x = op.shape(0);
  op.require(a.begin.size() == x.rank() && a.size.size() == x.rank(), "it needs a begin and a size an axis");
  for (std::size_t k = 0; k < x.rank(); ++k)
    op.require(a.begin[k] >= 0 && a.size[k] > 0 && a.begin[k] + a.size[k] <= x[k],
               "it reaches beyond the input");
  return {{Shape(a.size)}};
}

// dx is dy with zeros around it, put on axis by axis.
void slice_gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const SliceAttributes a = g.attributes<SliceAttributes>();
  const Shape x = g.shape(g.input(0));
  ValueId dx = g.dy();
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    std::vector<ValueId> parts;
    const auto add_zeros = [&](std::int64_t size) {
      Shape zeros = g.shape(dx);
      zeros[axis] = size;
      if (size > 0) parts.push_back(g.add_shaped(OpKind::fill, ScaleAttributes{0.0f}, {}, zeros));
    };
    add_zeros(a.begin[axis]);
    parts.push_back(dx);
    add_zeros(x[axis] - a.begin[axis] - a.size[axis]);
    if (parts.size() > 1) dx = g.add(OpKind::concat, ConcatAttributes{axis}, parts);
  }
  g.give(0, dx);
}

std::vector<ValueType> pad2d_outputs(const OpView& op) {
  const auto& p = op.attributes<Padding2D>();
  const Shape& x = op.shape(0);
  op.require(x.rank() == 4, "the input must have 4 axes");
  op.require(p.top >= 0 && p.bottom >= 0 && p.left >= 0 && p.right >= 0, "a padding is negative");
  return {{Shape{x[0], x[1] + p.top + p.bottom, x[2] + p.left + p.right, x[3]}}};
}

void pad2d_gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Padding2D p = g.attributes<Padding2D>();
  g.give(0,
         g.add(OpKind::slice, SliceAttributes{{0, p.top, p.left, 0}, g.shape(g.input(0)).dims()}, {g.dy()}));
}

std::vector<ValueType> reshape_outputs(const OpView& op) {
  op.require(op.shape(0).elements() == op.given_shape().elements(), "the number of elements must stay");
  return {{op.given_shape(), op.dtype(0)}};
}

void reshape_gradient(GradientContext& g) {
  if (!g.wants(0)) return;
  const Shape x = g.shape(g.input(0));
  g.give(0, x == g.shape(g.dy()) ? g.dy() : g.add_shaped(OpKind::reshape, NoAttributes{}, {g.dy()}, x));
}

}  // namespace

const OpDef kConcat{OpKind::concat, "concat", 1, kAnyNumber, concat_outputs, 1, no_flops, concat_gradient};
const OpDef kSlice{OpKind::slice, "slice", 1, 1, slice_outputs, 1, no_flops, slice_gradient};
const OpDef kPad2D{OpKind::pad2d, "pad2d", 1, 1, pad2d_outputs, 1, no_flops, pad2d_gradient};
const OpDef kReshape{OpKind::reshape, "reshape", 1, 1, reshape_outputs, 1, no_flops, reshape_gradient};

}  // namespace stoker::graph
