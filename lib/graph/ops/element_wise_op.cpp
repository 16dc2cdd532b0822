// binary with broadcasting, reduce_to_shape, scale, affine, dropout, fill.
#include <algorithm>
#include <stdexcept>

#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

// NumPy's rule: shapes are aligned at their last axes; an axis of 1, or a missing one, is repeated.
Shape broadcast(const OpView& op, const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  std::vector<std::int64_t> dims(rank);
  for (std::size_t k = 1; k <= rank; ++k) {
    const std::int64_t da = k <= a.rank() ? a[a.rank() - k] : 1, db = k <= b.rank() ? b[b.rank() - k] : 1;
    op.require(da == db || da == 1 || db == 1, "shapes cannot be broadcast together");
    dims[rank - k] = da == 1 ? db : da;
  }
  return Shape(std::move(dims));
}

std::vector<ValueType> binary_outputs(const OpView& op) {
  op.attributes<BinaryAttributes>();
  return {{broadcast(op, op.shape(0), op.shape(1))}};
}

ValueId combine(GradientContext& g, BinaryKind kind, ValueId a, ValueId b) {
  return g.add(OpKind::binary, BinaryAttributes{.kind = kind, .activation = {}}, {a, b});
}

// max(a, b): b gets dy where b > a, a the rest, so ties go to a as in TensorFlow. dy·[b − a > 0] is the
// gradient of a ReLU at b − a. min(a, b) is the same with a − b.
void extremum_gradient(GradientContext& g, bool is_max) {
  const ValueId a = g.input(0), b = g.input(1);
  const ValueId difference =
      is_max ? combine(g, BinaryKind::subtract, b, a) : combine(g, BinaryKind::subtract, a, b);
  const ActivationAttributes relu{.kind = ActivationKind::relu};
  const ValueId db = g.add(OpKind::activation_grad, relu, {g.dy(), difference});
  if (g.wants(0)) g.give(0, g.reduce_to(combine(g, BinaryKind::subtract, g.dy(), db), g.shape(a)));
  if (g.wants(1)) g.give(1, g.reduce_to(db, g.shape(b)));
}

void binary_gradient(GradientContext& g) {
  const BinaryAttributes attributes = g.attributes<BinaryAttributes>();
  require_not_fused(attributes.activation, g.name());
  if (!g.wants(0) && !g.wants(1)) return;
  switch (attributes.kind) {
    case BinaryKind::add:
      for (const std::size_t i : {0u, 1u})
        if (g.wants(i)) g.give(i, g.reduce_to(g.dy(), g.shape(g.input(i))));
      break;
    case BinaryKind::subtract:
      if (g.wants(0)) g.give(0, g.reduce_to(g.dy(), g.shape(g.input(0))));
      if (g.wants(1)) {
        const ValueId reduced = g.reduce_to(g.dy(), g.shape(g.input(1)));
        g.give(1, g.add(OpKind::scale, ScaleAttributes{-1.0f}, {reduced}));
      }
      break;
    case BinaryKind::multiply:
      for (const std::size_t i : {0u, 1u})
        if (g.wants(i)) {
          const ValueId product = combine(g, BinaryKind::multiply, g.dy(), g.input(1 - i));
          g.give(i, g.reduce_to(product, g.shape(g.input(i))));
        }
      break;
    case BinaryKind::maximum:
    case BinaryKind::minimum:
      extremum_gradient(g, attributes.kind == BinaryKind::maximum);
      break;
  }
}

std::vector<ValueType> reduce_outputs(const OpView& op) {
  const Shape& target = op.given_shape();
  op.require(broadcast(op, op.shape(0), target) == op.shape(0),
             "the shape cannot be broadcast to the input's");
  return {{target}};
}

std::vector<ValueType> scale_outputs(const OpView& op) {
  op.attributes<ScaleAttributes>();
  return {{op.shape(0)}};
}

void scale_gradient(GradientContext& g) {
  const ScaleAttributes attributes = g.attributes<ScaleAttributes>();
  if (g.wants(0)) g.give(0, g.add(OpKind::scale, attributes, {g.dy()}));
}

std::vector<ValueType> affine_outputs(const OpView& op) {
  op.require(op.shape(0).rank() >= 1, "the input must have a last axis");
  for (const std::size_t i : {1u, 2u, 3u})
    if (op.has(i))
      op.require(op.shape(i) == Shape{1} || op.shape(i) == Shape{op.shape(0).back()},
                 "shift, scale and offset must have 1 element or one a channel");
  return {{op.shape(0)}};
}

void affine_gradient(GradientContext& g) {
  if (g.wants(1) || g.wants(2) || g.wants(3))
    throw std::logic_error("affine '" + g.name() +
                           "': shift, scale and offset are constants, they do not train");
  if (!g.wants(0)) return;
  const ValueId scale = g.input(2);
  g.give(0, scale == kNoValue ? g.dy() : g.add(OpKind::affine, NoAttributes{}, {g.dy(), kNoValue, scale}));
}

std::vector<ValueType> dropout_outputs(const OpView& op) {
  const float rate = op.attributes<DropoutAttributes>().rate;
  op.require(rate >= 0 && rate < 1, "the rate must be in [0, 1)");
  return {{op.shape(0)}};
}

void dropout_gradient(GradientContext& g) {
  const DropoutAttributes attributes = g.attributes<DropoutAttributes>();
  if (g.wants(0)) g.give(0, g.add(OpKind::dropout, attributes, {g.dy()}));
}

std::vector<ValueType> fill_outputs(const OpView& op) {
  op.attributes<ScaleAttributes>();
  return {{op.given_shape()}};
}

double output_elements(const OpView& op) { return static_cast<double>(op.output_shape().elements()); }

}  // namespace

const OpDef kBinary{OpKind::binary,
                    "binary",
                    2,
                    2,
                    binary_outputs,
                    1,
                    [](const OpView& op) {
                      return (1 + activation_flops(op.attributes<BinaryAttributes>().activation)) *
                             output_elements(op);
                    },
                    binary_gradient,
                    true};

const OpDef kReduceToShape{OpKind::reduce_to_shape,
                           "reduce_to_shape",
                           1,
                           1,
                           reduce_outputs,
                           1,
                           [](const OpView& op) { return static_cast<double>(op.shape(0).elements()); },
                           nullptr};

const OpDef kScale{OpKind::scale, "scale", 1, 1, scale_outputs, 1, output_elements, scale_gradient, true};

const OpDef kAffine{OpKind::affine,
                    "affine",
                    1,
                    4,
                    affine_outputs,
                    1,
                    [](const OpView& op) {
                      return ((op.has(1) ? 1 : 0) + (op.has(2) ? 1 : 0) + (op.has(3) ? 1 : 0)) *
                             output_elements(op);
                    },
                    affine_gradient,
                    true};

// A Philox block of four numbers takes about 100 operations.
const OpDef kDropout{OpKind::dropout,
                     "dropout",
                     1,
                     1,
                     dropout_outputs,
                     1,
                     [](const OpView& op) { return 26 * output_elements(op); },
                     dropout_gradient,
                     true};

const OpDef kFill{OpKind::fill, "fill", 0, 0, fill_outputs, 1, [](const OpView&) { return 0.0; }, nullptr};

}  // namespace stoker::graph
