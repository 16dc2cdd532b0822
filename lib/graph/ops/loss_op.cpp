// loss and metric.
#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

// int32 of prediction's shape without its last axis for labels, else fp32 of prediction's shape.
void require_target(const OpView& op, bool labels) {
  const Shape& prediction = op.shape(0);
  op.require(prediction.rank() >= 2, "the prediction must have a batch and a last axis");
  if (labels) {
    std::vector<std::int64_t> dims = prediction.dims();
    dims.pop_back();
    op.require(op.dtype(1) == DType::i32 && op.shape(1) == Shape(std::move(dims)), "the labels do not fit");
  } else {
    op.require(op.dtype(1) == DType::f32 && op.shape(1) == prediction, "the target does not fit");
  }
}

std::vector<ValueType> loss_outputs(const OpView& op) {
  require_target(op, op.attributes<LossAttributes>().kind == LossKind::sparse_categorical_crossentropy);
  return {{Shape{1}}, {op.shape(0)}};
}

// d_prediction is computed with the loss itself.
void loss_gradient(GradientContext& g) {
  if (g.wants(0)) g.give(0, g.output(1));
}

std::vector<ValueType> metric_outputs(const OpView& op) {
  const auto& a = op.attributes<MetricAttributes>();
  op.require(a.k > 0, "k must be positive");
  require_target(op, a.kind == MetricKind::sparse_categorical_accuracy ||
                         a.kind == MetricKind::sparse_top_k_categorical_accuracy);
  return {{Shape{1}}};
}

}  // namespace

// As a softmax with its logarithm: 20 an element, 3 more for the gradient.
const OpDef kLoss{OpKind::loss,
                  "loss",
                  2,
                  2,
                  loss_outputs,
                  1,
                  [](const OpView& op) {
                    return (op.has_output(1) ? 23.0 : 20.0) * static_cast<double>(op.shape(0).elements());
                  },
                  loss_gradient};

const OpDef kMetric{OpKind::metric,
                    "metric",
                    2,
                    2,
                    metric_outputs,
                    1,
                    [](const OpView& op) { return 2.0 * static_cast<double>(op.shape(0).elements()); },
                    nullptr};

}  // namespace stoker::graph
