// Softmax and batch normalisation of the reference interpreter.
#include <algorithm>
#include <cmath>

#include "tests/unit/graph/reference_ops.h"

namespace stoker::graph::reference {
namespace {

// Of a vector a channel, at element i of a tensor with channels last.
double per_channel(const OpRun& op, std::size_t input, std::size_t i, double otherwise) {
  return op.has(input) ? op.in(input)[i % op.in(input).size()] : otherwise;
}

double reciprocal_deviation(double variance, float epsilon) { return 1 / std::sqrt(variance + epsilon); }

}  // namespace

void softmax(OpRun& op) {
  const std::size_t classes = static_cast<std::size_t>(op.in_shape(0).back());
  Tensor& y = op.out();
  for (std::size_t row = 0; row < y.size(); row += classes) {
    const double* x = op.in(0).data() + row;
    const double largest = *std::max_element(x, x + classes);
    double sum = 0;
    for (std::size_t c = 0; c < classes; ++c) sum += std::exp(x[c] - largest);
    for (std::size_t c = 0; c < classes; ++c) y[row + c] = std::exp(x[c] - largest) / sum;
  }
}

void softmax_grad(OpRun& op) {
  const std::size_t classes = static_cast<std::size_t>(op.in_shape(0).back());
  Tensor& dx = op.out();
  for (std::size_t row = 0; row < dx.size(); row += classes) {
    const double *dy = op.in(0).data() + row, *y = op.in(1).data() + row;
    double dot = 0;
    for (std::size_t c = 0; c < classes; ++c) dot += dy[c] * y[c];
    for (std::size_t c = 0; c < classes; ++c) dx[row + c] = y[c] * (dy[c] - dot);
  }
}

void batch_norm(OpRun& op) {
  const auto& a = op.attributes<BatchNormAttributes>();
  const Tensor& x = op.in(0);
  const std::size_t channels = static_cast<std::size_t>(op.in_shape(0).back());
  const double rows = static_cast<double>(x.size() / channels);
  Tensor mean(channels, 0.0), variance(channels, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) mean[i % channels] += x[i] / rows;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - mean[i % channels];
    variance[i % channels] += d * d / rows;
  }
  Tensor& y = op.out();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    const double normalised = (x[i] - mean[c]) * reciprocal_deviation(variance[c], a.epsilon);
    y[i] = activate(a.activation, normalised * per_channel(op, 1, i, 1) + per_channel(op, 2, i, 0));
  }
  if (op.has_output(1)) op.out(1) = mean;
  if (op.has_output(2)) op.out(2) = variance;
}

void batch_norm_grad(OpRun& op) {
  const auto& a = op.attributes<BatchNormAttributes>();
  const Tensor &x = op.in(1), &mean = op.in(3), &variance = op.in(4);
  Tensor dy = op.in(0);
  if (op.has(5)) {
    ActivationAttributes relu = a.activation;
    relu.from_output = true;
    for (std::size_t i = 0; i < dy.size(); ++i) dy[i] *= activation_derivative(relu, op.in(5)[i]);
  }
  const std::size_t channels = mean.size();
  const double rows = static_cast<double>(x.size() / channels);
  const auto normalised = [&](std::size_t i) {
    return (x[i] - mean[i % channels]) * reciprocal_deviation(variance[i % channels], a.epsilon);
  };
  Tensor dgamma(channels, 0.0), dbeta(channels, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    dgamma[i % channels] += dy[i] * normalised(i);
    dbeta[i % channels] += dy[i];
  }
  Tensor& dx = op.out();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t c = i % channels;
    dx[i] = per_channel(op, 2, i, 1) * reciprocal_deviation(variance[c], a.epsilon) *
            (dy[i] - dbeta[c] / rows - normalised(i) * dgamma[c] / rows);
  }
  if (op.has_output(1)) op.out(1) = dgamma;
  if (op.has_output(2)) op.out(2) = dbeta;
}

void batch_norm_inference(OpRun& op) {
  const auto& a = op.attributes<BatchNormAttributes>();
  Tensor& y = op.out();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double deviation = reciprocal_deviation(per_channel(op, 4, i, 1), a.epsilon);
    const double normalised = (op.in(0)[i] - per_channel(op, 3, i, 0)) * deviation;
    y[i] = activate(a.activation, normalised * per_channel(op, 1, i, 1) + per_channel(op, 2, i, 0));
  }
}

void batch_norm_inference_grad(OpRun& op) {
  const auto& a = op.attributes<BatchNormAttributes>();
  Tensor& dx = op.out();
  for (std::size_t i = 0; i < dx.size(); ++i)
    dx[i] =
        op.in(0)[i] * per_channel(op, 1, i, 1) * reciprocal_deviation(per_channel(op, 2, i, 1), a.epsilon);
}

}  // namespace stoker::graph::reference
