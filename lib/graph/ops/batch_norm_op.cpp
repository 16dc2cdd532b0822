// batch_norm and batch_norm_inference with their gradients.
#include "lib/graph/gradient_context.h"
#include "lib/graph/ops/op_families.h"

namespace stoker::graph {
namespace {

// Inputs `indices` are per channel where they are there.
void require_per_channel(const OpView& op, std::int64_t channels,
                         std::initializer_list<std::size_t> indices) {
  for (const std::size_t i : indices)
    if (op.has(i)) op.require(op.shape(i) == Shape{channels}, "a vector does not fit the channels");
}

std::int64_t channels_of(const OpView& op) {
  op.attributes<BatchNormAttributes>();
  op.require(op.shape(0).rank() >= 2, "the input must have a batch and a channel axis");
  return op.shape(0).back();
}

std::vector<ValueType> batch_norm_outputs(const OpView& op) {
  const std::int64_t channels = channels_of(op);
  require_per_channel(op, channels, {1, 2});
  return {{op.shape(0)}, {Shape{channels}}, {Shape{channels}}};
}

std::vector<ValueType> batch_norm_grad_outputs(const OpView& op) {
  const std::int64_t channels = channels_of(op);
  op.require(op.shape(1) == op.shape(0), "dy and x must have the same shape");
  op.require(op.has(3) && op.has(4), "mean and variance are missing");
  require_per_channel(op, channels, {2, 3, 4});
  if (op.has(5)) op.require(op.shape(5) == op.shape(0), "dy and y must have the same shape");
  return {{op.shape(0)}, {Shape{channels}}, {Shape{channels}}};
}

void batch_norm_gradient(GradientContext& g) {
  if (!g.wants(0) && !g.wants(1) && !g.wants(2)) return;
  const BatchNormAttributes attributes = g.attributes<BatchNormAttributes>();
  require_not_fused(attributes.activation, g.name());
  const ValueId mean = g.output(1), variance = g.output(2);
  const auto d = g.add_many(OpKind::batch_norm_grad, attributes,
                            {g.dy(), g.input(0), g.input(1), mean, variance}, {true, g.wants(1), g.wants(2)});
  for (const std::size_t i : {1u, 2u, 0u})
    if (g.wants(i)) g.give(i, d[i]);
}

std::vector<ValueType> inference_outputs(const OpView& op) {
  const std::int64_t channels = channels_of(op);
  op.require(op.has(3) && op.has(4), "mean and variance are missing");
  require_per_channel(op, channels, {1, 2, 3, 4});
  return {{op.shape(0)}};
}

std::vector<ValueType> inference_grad_outputs(const OpView& op) {
  const std::int64_t channels = channels_of(op);
  op.require(op.has(2), "the variance is missing");
  require_per_channel(op, channels, {1, 2});
  return {{op.shape(0)}};
}

// The statistics are constants here: mean and variance get no gradient.
void inference_gradient(GradientContext& g) {
  const BatchNormAttributes attributes = g.attributes<BatchNormAttributes>();
  require_not_fused(attributes.activation, g.name());
  const ValueId mean = g.input(3), variance = g.input(4);
  if (g.wants(1)) {
    const ValueId normalised =
        g.add(OpKind::batch_norm_inference, attributes, {g.input(0), kNoValue, kNoValue, mean, variance});
    const ValueId product =
        g.add(OpKind::binary, BinaryAttributes{.kind = BinaryKind::multiply, .activation = {}},
              {g.dy(), normalised});
    g.give(1, g.reduce_to(product, g.shape(g.input(1))));
  }
  if (g.wants(2)) g.give(2, g.reduce_to(g.dy(), g.shape(g.input(2))));
  if (g.wants(0))
    g.give(0, g.add(OpKind::batch_norm_inference_grad, attributes, {g.dy(), g.input(1), variance}));
}

double per_element(const OpView& op, double flops) {
  return flops * static_cast<double>(op.shape(0).elements());
}

}  // namespace

// Mean 1, variance 3, normalisation 2, gamma and beta 2 an element.
const OpDef kBatchNorm{OpKind::batch_norm,
                       "batch_norm",
                       1,
                       3,
                       batch_norm_outputs,
                       1,
                       [](const OpView& op) {
                         return per_element(
                             op, 8 + activation_flops(op.attributes<BatchNormAttributes>().activation));
                       },
                       batch_norm_gradient};

// Two sums of 3 and a combination of 6 an element.
const OpDef kBatchNormGrad{OpKind::batch_norm_grad,
                           "batch_norm_grad",
                           5,
                           6,
                           batch_norm_grad_outputs,
                           1,
                           [](const OpView& op) { return per_element(op, op.has(5) ? 13 : 12); },
                           nullptr};

const OpDef kBatchNormInference{
    OpKind::batch_norm_inference,
    "batch_norm_inference",
    5,
    5,
    inference_outputs,
    1,
    [](const OpView& op) {
      return per_element(op, 2 + activation_flops(op.attributes<BatchNormAttributes>().activation));
    },
    inference_gradient};

const OpDef kBatchNormInferenceGrad{OpKind::batch_norm_inference_grad,
                                    "batch_norm_inference_grad",
                                    3,
                                    3,
                                    inference_grad_outputs,
                                    1,
                                    [](const OpView& op) { return per_element(op, 1); },
                                    nullptr};

}  // namespace stoker::graph
