// The primitive operations of the graph: what each takes, gives and means. A backend offers one kernel per
// OpKind; lib/graph offers for each its shape rule, its FLOPs and bytes, and its gradient as further
// operations (ops/*.cpp, table in op_table.h).
//
// Everywhere: n is the samples of the microbatch; activations are fp32, row-major, channels last (NHWC:
// [n,h,w,c]); kernels have Keras layouts. What stands after → are the outputs in order. [x] is optional;
// what is absent is kNoValue, or missing at the end of the list. act is the attributes' activation.
//
// Forward
//   conv2d(x[n,h,w,c], w[kh,kw,c/groups,o], [bias[o]]) → y[n,oh,ow,o]
//       act(conv(x, w) + bias); a depthwise convolution has groups = c
//   matmul(x[n,k], w[k,m], [bias[m]]) → y[n,m]
//       act(x·w + bias); a Dense on rank > 2 is reshaped to 2-D
//   pool2d(x[n,h,w,c]) → y[n,oh,ow,c], [argmax u8, of y's shape]
//       max: padding never wins; argmax = i·window_w + j of the first maximum in the window (training graphs;
//       windows of up to 255 cells); average: divides by the number of cells that are no padding
//   global_pool(x[n,…,c]) → y[n,c]
//       mean or max over all axes between
//   activation(x) → y
//   softmax(x[…,c]) → y
//       over the last axis, the maximum subtracted
//   batch_norm(x[…,c], [gamma[c]], [beta[c]]) → y, mean[c], variance[c]
//       act((x − mean)/√(variance + epsilon)·gamma + beta); biased variance over all axes but the last
//   batch_norm_inference(x[…,c], [gamma[c]], [beta[c]], mean[c], variance[c]) → y
//   binary(a, b) → y
//       act(a ∘ b) with NumPy's broadcasting
//   scale(x) → y
//       factor·x, any shape; also into the statistics
//   affine(x, [shift], [scale], [offset]) → y
//       (x − shift)·scale + offset; each has 1 or x.shape[-1] elements
//   concat(x0, x1, …) → y, slice(x) → y, pad2d(x) → y
//       copies, pad2d with zeros around; slice is the gradient of both others
//   reshape(x) → y
//       a view: y shares x's memory and no kernel runs
//   dropout(x) → y
//       x·mask/(1 − rate); the mask comes from the counter RNG (random.h): the gradient is the same op on dy
//   loss(prediction[n,…], target) → sum[1], [d_prediction]
//       the sum over samples of the per-sample loss, which is a mean over all axes but the batch (and the
//       classes, for the categorical ones); d_prediction = loss_seed · ∂sum/∂prediction (training).
//       target is int32 of prediction's shape without its last axis for the sparse ones, else fp32 of
//       prediction's shape. With ε = 1e-7, from probabilities p (from logits: log-sum-exp and its like for
//       the sigmoid):
//         categorical         p ← p/Σp, then clipped to [ε, 1 − ε]; −Σ target·log p
//         sparse categorical  p ← clipped to [ε, 1 − ε], then p/Σp; −log p[target]
//         binary              p ← clipped to [ε, 1 − ε]; −target·log p − (1 − target)·log(1 − p)
//       The gradient is that of these expressions, 0 where clipped; but categorical from logits gives
//       softmax(x) − target whatever Σ target is, as TensorFlow does.
//   metric(prediction[n,…], target) → sum[1]
//       the sum over samples; means and shapes of targets as for loss
//   fill() → y
//       every element is the factor
// Backward
//   conv2d_grad_input(dy, w) → dx
//   conv2d_grad_weights(x, dy) → dw, [db]
//   matmul_grad_input(dy, w) → dx
//   matmul_grad_weights(x, dy) → dw, [db]
//   pool2d_grad(dy, [argmax], [y]) → dx
//       argmax for max. y given: the gradient of a plain ReLU before the max pool is fused (dy counts where
//       y > 0)
//   global_pool_grad(dy, [x], [y]) → dx
//       max (x and y given) shares dy equally among ties, as TensorFlow does
//   activation_grad(dy, z) → dx
//       z is y if from_output, else x
//   softmax_grad(dy, y) → dx
//   batch_norm_grad(dy, x, [gamma], mean, variance, [y]) → dx, [dgamma], [dbeta]
//       y given: the gradient of the fused activation comes first, always a relu with alpha 0 and threshold 0
//       (any max_value)
//   batch_norm_inference_grad(dy, [gamma], variance) → dx
//   reduce_to_shape(dy) → dx
//       sums over the broadcast axes
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lib/tensor/shape.h"

namespace stoker::graph {

enum class OpKind : std::uint8_t {
  conv2d,
  conv2d_grad_input,
  conv2d_grad_weights,
  matmul,
  matmul_grad_input,
  matmul_grad_weights,
  pool2d,
  pool2d_grad,
  global_pool,
  global_pool_grad,
  activation,
  activation_grad,
  softmax,
  softmax_grad,
  batch_norm,
  batch_norm_grad,
  batch_norm_inference,
  batch_norm_inference_grad,
  binary,
  reduce_to_shape,
  scale,
  affine,
  concat,
  slice,
  pad2d,
  reshape,
  dropout,
  fill,
  loss,
  metric,
  count_  // number of kinds
};

// alpha, max_value, threshold are used by the kinds that name them.
enum class ActivationKind : std::uint8_t {
  linear,
  relu,  // x ≥ max_value: max_value; x > threshold: x; else alpha·(x − threshold)   (alpha: negative slope)
  elu,   // x > 0: x; else alpha·(eˣ − 1)
  selu,  // 1.05070098·(x > 0: x; else 1.67326324·(eˣ − 1))
  gelu,  // x·Φ(x), exact
  gelu_tanh,
  silu,  // x·σ(x)
  sigmoid,
  hard_sigmoid,     // Keras 3: relu6(x + 3)/6
  hard_sigmoid_v2,  // Keras 2: clip(0.2·x + 0.5, 0, 1)
  tanh,
  softplus,
  softsign,
  exponential,
  mish,
};

struct ActivationAttributes {
  ActivationKind kind = ActivationKind::linear;
  float alpha = 0.0f;
  float max_value = __builtin_inff();
  float threshold = 0.0f;
  bool from_output = false;  // activation_grad only: z is the output
  bool operator==(const ActivationAttributes&) const = default;
};
// The derivative of relu is 1 where threshold < x < max_value, alpha where x ≤ threshold, else 0.
//
// Whether the derivative is a function of the output alone, with no loss of precision: activation_grad then
// reads y by the same rule (relu), and x need not be kept.
bool gradient_from_output(const ActivationAttributes& activation);

struct Padding2D {
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  bool operator==(const Padding2D&) const = default;
};

struct Conv2DAttributes {
  std::int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1, groups = 1;
  Padding2D padding;
  ActivationAttributes activation;  // fused into conv2d
};
struct MatMulAttributes {
  ActivationAttributes activation;  // fused into matmul
};
struct Pool2DAttributes {
  bool is_max = true;
  std::int64_t window_h = 2, window_w = 2, stride_h = 2, stride_w = 2;
  Padding2D padding;
};
struct GlobalPoolAttributes {
  bool is_max = false;
};
struct BatchNormAttributes {
  float epsilon = 1e-3f;
  ActivationAttributes activation;  // fused into batch_norm and batch_norm_inference
};
enum class BinaryKind : std::uint8_t { add, subtract, multiply, maximum, minimum };
struct BinaryAttributes {
  BinaryKind kind = BinaryKind::add;
  ActivationAttributes activation;  // fused
};
struct ScaleAttributes {
  float factor = 1.0f;  // also the value of fill
};
struct ConcatAttributes {
  std::size_t axis = 0;
};
struct SliceAttributes {  // one entry per axis
  std::vector<std::int64_t> begin, size;
};
struct DropoutAttributes {
  float rate = 0.5f;
  std::uint32_t layer = 0;  // index of the layer in the model
  std::uint32_t call = 0;   // which call of a shared layer
};
enum class LossKind : std::uint8_t {
  sparse_categorical_crossentropy,
  categorical_crossentropy,
  binary_crossentropy,
  mean_squared_error,
  mean_absolute_error,
  huber,
};
struct LossAttributes {
  LossKind kind = LossKind::mean_squared_error;
  bool from_logits = false;  // cross-entropies; else probabilities, renormalised and clipped as Keras does
  float label_smoothing = 0.0f;
  float delta = 1.0f;  // huber
};
enum class MetricKind : std::uint8_t {
  binary_accuracy,       // prediction > threshold against target, mean over the last axis
  categorical_accuracy,  // argmax against argmax
  sparse_categorical_accuracy,
  top_k_categorical_accuracy,
  sparse_top_k_categorical_accuracy,
  mean_absolute_error,
  mean_squared_error,
};
struct MetricAttributes {
  MetricKind kind = MetricKind::mean_squared_error;
  float threshold = 0.5f;
  std::int64_t k = 5;
};
struct NoAttributes {};

// pad2d uses Padding2D. softmax, softmax_grad, reshape and reduce_to_shape have none, fill has
// ScaleAttributes; a gradient op has those of its forward op. The output shapes of reshape, reduce_to_shape,
// fill and of the gradients of convolutions and pools do not follow from their inputs: they are given.
using Attributes =
    std::variant<NoAttributes, Conv2DAttributes, MatMulAttributes, Pool2DAttributes, GlobalPoolAttributes,
                 BatchNormAttributes, BinaryAttributes, ScaleAttributes, ConcatAttributes, SliceAttributes,
                 DropoutAttributes, LossAttributes, MetricAttributes, ActivationAttributes, Padding2D>;

}  // namespace stoker::graph
