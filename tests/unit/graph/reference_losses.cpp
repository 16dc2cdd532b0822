// Losses and metrics of the reference interpreter.
#include <algorithm>
#include <cmath>

#include "tests/unit/graph/reference_ops.h"

namespace stoker::graph::reference {
namespace {

constexpr double kEpsilon = 1e-7;  // keras.config.epsilon()

double clip(double p) { return std::clamp(p, kEpsilon, 1 - kEpsilon); }
bool inside(double p) { return p >= kEpsilon && p <= 1 - kEpsilon; }

// One row of a categorical loss: `p` are `classes` logits or probabilities, `target` the (smoothed)
// distribution. Returns the loss and writes its derivative.
double from_logits(const double* p, const Tensor& target, double* derivative) {
  const std::size_t classes = target.size();
  const double largest = *std::max_element(p, p + classes);
  double sum = 0, value = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += std::exp(p[c] - largest);
  for (std::size_t c = 0; c < classes; ++c) {
    value += target[c] * (std::log(sum) + largest - p[c]);
    derivative[c] = std::exp(p[c] - largest) / sum - target[c];
  }
  return value;
}

// p ← p/Σp, then clipped.
double categorical(const double* p, const Tensor& target, double* derivative) {
  const std::size_t classes = target.size();
  double sum = 0, value = 0, dot = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += p[c];
  for (std::size_t c = 0; c < classes; ++c) {
    const double q = p[c] / sum;
    value -= target[c] * std::log(clip(q));
    derivative[c] = inside(q) ? -target[c] / q : 0;  // by q
    dot += derivative[c] * q;
  }
  for (std::size_t c = 0; c < classes; ++c) derivative[c] = (derivative[c] - dot) / sum;
  return value;
}

// p ← clipped, then p/Σp.
double sparse_categorical(const double* p, const Tensor& target, double* derivative) {
  const std::size_t classes = target.size();
  double sum = 0, value = 0;
  for (std::size_t c = 0; c < classes; ++c) sum += clip(p[c]);
  for (std::size_t c = 0; c < classes; ++c) {
    value -= target[c] * std::log(clip(p[c]) / sum);
    derivative[c] = inside(p[c]) ? 1 / sum - target[c] / p[c] : 0;
  }
  return value;
}

double binary_crossentropy(bool logits, double p, double target, double& derivative) {
  if (logits) {
    derivative = 1 / (1 + std::exp(-p)) - target;
    return std::max(p, 0.0) - p * target + std::log1p(std::exp(-std::abs(p)));
  }
  const double q = clip(p);
  derivative = inside(p) ? (1 - target) / (1 - q) - target / q : 0;
  return -target * std::log(q) - (1 - target) * std::log(1 - q);
}

// Losses that are a mean over all elements of a sample.
double element_loss(const LossAttributes& a, double p, double target, double& derivative) {
  const double error = p - target;
  switch (a.kind) {
    case LossKind::binary_crossentropy:
      return binary_crossentropy(a.from_logits, p, target * (1 - a.label_smoothing) + a.label_smoothing / 2.0,
                                 derivative);
    case LossKind::mean_absolute_error:
      derivative = error > 0 ? 1 : error < 0 ? -1 : 0;
      return std::abs(error);
    case LossKind::huber:
      derivative = std::clamp(error, -static_cast<double>(a.delta), static_cast<double>(a.delta));
      return std::abs(error) <= a.delta ? error * error / 2 : a.delta * (std::abs(error) - a.delta / 2.0);
    default:
      derivative = 2 * error;
      return error * error;
  }
}

std::size_t argmax(const double* row, std::size_t classes) {
  return static_cast<std::size_t>(std::max_element(row, row + classes) - row);
}

// Whether fewer than k classes are ahead of `label`.
bool in_top_k(const double* row, std::size_t classes, std::size_t label, std::int64_t k) {
  return std::count_if(row, row + classes, [&](double p) { return p > row[label]; }) < k;
}

// One row of `classes` elements: a hit as 1, or an error as the mean over the elements.
double row_metric(const MetricAttributes& a, const double* p, const double* target, std::size_t classes) {
  const std::size_t label = static_cast<std::size_t>(target[0]);
  double sum = 0;
  switch (a.kind) {
    case MetricKind::categorical_accuracy:
      return argmax(p, classes) == argmax(target, classes);
    case MetricKind::sparse_categorical_accuracy:
      return argmax(p, classes) == label;
    case MetricKind::top_k_categorical_accuracy:
      return in_top_k(p, classes, argmax(target, classes), a.k);
    case MetricKind::sparse_top_k_categorical_accuracy:
      return in_top_k(p, classes, label, a.k);
    case MetricKind::binary_accuracy:
      for (std::size_t c = 0; c < classes; ++c) sum += (p[c] > a.threshold ? 1 : 0) == target[c];
      break;
    case MetricKind::mean_absolute_error:
      for (std::size_t c = 0; c < classes; ++c) sum += std::abs(p[c] - target[c]);
      break;
    case MetricKind::mean_squared_error:
      for (std::size_t c = 0; c < classes; ++c) sum += (p[c] - target[c]) * (p[c] - target[c]);
      break;
  }
  return sum / static_cast<double>(classes);
}

}  // namespace

void loss(OpRun& op) {
  const auto& a = op.attributes<LossAttributes>();
  const Shape& shape = op.in_shape(0);
  const Tensor &prediction = op.in(0), &target = op.in(1);
  const std::size_t classes = static_cast<std::size_t>(shape.back());
  const double per_sample = static_cast<double>(shape.elements() / shape[0]);
  const bool sparse = a.kind == LossKind::sparse_categorical_crossentropy;
  const bool by_row = sparse || a.kind == LossKind::categorical_crossentropy;
  const double weight = by_row ? static_cast<double>(classes) / per_sample : 1 / per_sample;
  Tensor derivative(prediction.size());
  double sum = 0;
  for (std::size_t row = 0; row < prediction.size() / classes; ++row) {
    const double* p = prediction.data() + row * classes;
    double* d = derivative.data() + row * classes;
    if (!by_row) {
      for (std::size_t c = 0; c < classes; ++c) sum += element_loss(a, p[c], target[row * classes + c], d[c]);
      continue;
    }
    Tensor distribution(classes, 0.0);
    if (sparse)
      distribution[static_cast<std::size_t>(target[row])] = 1;
    else
      for (std::size_t c = 0; c < classes; ++c)
        distribution[c] = target[row * classes + c] * (1 - a.label_smoothing) +
                          a.label_smoothing / static_cast<double>(classes);
    sum += a.from_logits ? from_logits(p, distribution, d)
           : sparse      ? sparse_categorical(p, distribution, d)
                         : categorical(p, distribution, d);
  }
  op.out(0)[0] = sum * weight;
  if (!op.has_output(1)) return;
  for (double& d : derivative) d *= weight * op.arguments.loss_seed;
  op.out(1) = derivative;
}

void metric(OpRun& op) {
  const auto& a = op.attributes<MetricAttributes>();
  const Shape& shape = op.in_shape(0);
  const std::size_t classes = static_cast<std::size_t>(shape.back());
  const std::size_t rows = op.in(0).size() / classes;
  const std::size_t target_step = op.in(1).size() / rows;
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row)
    sum += row_metric(a, op.in(0).data() + row * classes, op.in(1).data() + row * target_step, classes);
  op.out(0)[0] = sum * static_cast<double>(shape[0]) / static_cast<double>(rows);
}

}  // namespace stoker::graph::reference
