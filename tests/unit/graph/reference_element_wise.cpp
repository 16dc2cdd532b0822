// Element-wise ops and copies of the reference interpreter.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/graph/random.h"
#include "tests/unit/graph/reference_ops.h"

namespace stoker::graph::reference {
namespace {

constexpr double kSeluScale = 1.05070098, kSeluAlpha = 1.67326324;

double logistic(double x) { return 1 / (1 + std::exp(-x)); }
double normal_cdf(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }
double normal_pdf(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double softplus(double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }

// The argument of tanh in the approximation of gelu, and its derivative.
double gelu_inner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double gelu_inner_derivative(double x) {
  return std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
}

// Of the kinds whose derivative is taken at the input.
double derivative_from_input(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::gelu:
      return normal_cdf(x) + x * normal_pdf(x);
    case ActivationKind::gelu_tanh: {
      const double t = std::tanh(gelu_inner(x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * gelu_inner_derivative(x);
    }
    case ActivationKind::silu:
      return logistic(x) * (1 + x * (1 - logistic(x)));
    case ActivationKind::softplus:
      return logistic(x);
    case ActivationKind::softsign:
      return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case ActivationKind::mish: {
      const double t = std::tanh(softplus(x));
      return t + x * (1 - t * t) * logistic(x);
    }
    default:
      return 1;
  }
}

// The index in a tensor of shape `s` that goes with index `i` of one of shape `full`, to which s is
// broadcast.
std::size_t broadcast_index(const Shape& full, const Shape& s, std::size_t i) {
  std::size_t index = 0, stride = 1;
  for (std::size_t k = 1; k <= full.rank(); ++k) {
    const std::size_t extent = static_cast<std::size_t>(full[full.rank() - k]);
    const std::size_t coordinate = i % extent;
    i /= extent;
    if (k > s.rank()) continue;
    if (s[s.rank() - k] != 1) index += coordinate * stride;
    stride *= static_cast<std::size_t>(s[s.rank() - k]);
  }
  return index;
}

double combine(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::add:
      return a + b;
    case BinaryKind::subtract:
      return a - b;
    case BinaryKind::multiply:
      return a * b;
    case BinaryKind::maximum:
      return std::max(a, b);
    case BinaryKind::minimum:
      return std::min(a, b);
  }
  return 0;
}

// Copies the box of `size` at `from_begin` of `from` to `to_begin` of `to`.
void copy_box(const Tensor& from, const Shape& from_shape, const std::vector<std::int64_t>& from_begin,
              Tensor& to, const Shape& to_shape, const std::vector<std::int64_t>& to_begin,
              const Shape& size) {
  for (std::int64_t i = 0; i < size.elements(); ++i) {
    std::int64_t rest = i, f = 0, t = 0, f_stride = 1, t_stride = 1;
    for (std::size_t k = size.rank(); k-- > 0;) {
      const std::int64_t coordinate = rest % size[k];
      rest /= size[k];
      f += (from_begin[k] + coordinate) * f_stride;
      t += (to_begin[k] + coordinate) * t_stride;
      f_stride *= from_shape[k];
      t_stride *= to_shape[k];
    }
    to[static_cast<std::size_t>(t)] = from[static_cast<std::size_t>(f)];
  }
}

}  // namespace

double activate(const ActivationAttributes& a, double x) {
  switch (a.kind) {
    case ActivationKind::linear:
      return x;
    case ActivationKind::relu:
      return x >= a.max_value ? a.max_value : x > a.threshold ? x : a.alpha * (x - a.threshold);
    case ActivationKind::elu:
      return x > 0 ? x : a.alpha * std::expm1(x);
    case ActivationKind::selu:
      return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
    case ActivationKind::gelu:
      return x * normal_cdf(x);
    case ActivationKind::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(gelu_inner(x)));
    case ActivationKind::silu:
      return x * logistic(x);
    case ActivationKind::sigmoid:
      return logistic(x);
    case ActivationKind::hard_sigmoid:
      return std::clamp(x + 3, 0.0, 6.0) / 6;
    case ActivationKind::hard_sigmoid_v2:
      return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
    case ActivationKind::tanh:
      return std::tanh(x);
    case ActivationKind::softplus:
      return softplus(x);
    case ActivationKind::softsign:
      return x / (1 + std::abs(x));
    case ActivationKind::exponential:
      return std::exp(x);
    case ActivationKind::mish:
      return x * std::tanh(softplus(x));
  }
  return 0;
}

double activation_derivative(const ActivationAttributes& a, double z) {
  if (!gradient_from_output(a) && a.kind != ActivationKind::relu && a.kind != ActivationKind::elu)
    return derivative_from_input(a.kind, z);
  const double y = a.from_output ? z : activate(a, z);
  switch (a.kind) {
    case ActivationKind::relu:
      return z >= a.max_value ? 0 : z > a.threshold ? 1 : a.alpha;
    case ActivationKind::elu:
      return z > 0 ? 1 : y + a.alpha;
    case ActivationKind::selu:
      return z > 0 ? kSeluScale : y + kSeluScale * kSeluAlpha;
    case ActivationKind::sigmoid:
      return y * (1 - y);
    case ActivationKind::hard_sigmoid:
      return y > 0 && y < 1 ? 1.0 / 6 : 0;
    case ActivationKind::hard_sigmoid_v2:
      return y > 0 && y < 1 ? 0.2 : 0;
    case ActivationKind::tanh:
      return 1 - y * y;
    case ActivationKind::exponential:
      return y;
    default:
      return 1;
  }
}

void activation(OpRun& op) {
  Tensor& y = op.out();
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = activate(op.attributes<ActivationAttributes>(), op.in(0)[i]);
}

void activation_grad(OpRun& op) {
  Tensor& dx = op.out();
  for (std::size_t i = 0; i < dx.size(); ++i)
    dx[i] = op.in(0)[i] * activation_derivative(op.attributes<ActivationAttributes>(), op.in(1)[i]);
}

void binary(OpRun& op) {
  const auto& a = op.attributes<BinaryAttributes>();
  Tensor& y = op.out();
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] =
        activate(a.activation, combine(a.kind, op.in(0)[broadcast_index(op.out_shape(), op.in_shape(0), i)],
                                       op.in(1)[broadcast_index(op.out_shape(), op.in_shape(1), i)]));
}

void reduce_to_shape(OpRun& op) {
  Tensor& dx = op.out();
  for (std::size_t i = 0; i < op.in(0).size(); ++i)
    dx[broadcast_index(op.in_shape(0), op.out_shape(), i)] += op.in(0)[i];
}

void scale(OpRun& op) {
  Tensor& y = op.out();
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = op.attributes<ScaleAttributes>().factor * op.in(0)[i];
}

void affine(OpRun& op) {
  const auto element = [&](std::size_t input, std::size_t i, double otherwise) {
    return op.has(input) ? op.in(input)[i % op.in(input).size()] : otherwise;
  };
  Tensor& y = op.out();
  for (std::size_t i = 0; i < y.size(); ++i)
    y[i] = (op.in(0)[i] - element(1, i, 0)) * element(2, i, 1) + element(3, i, 0);
}

void concat(OpRun& op) {
  Tensor& y = op.out();
  const std::size_t rank = op.out_shape().rank(), axis = op.attributes<ConcatAttributes>().axis;
  std::vector<std::int64_t> begin(rank, 0);
  const std::vector<std::int64_t> zeros(rank, 0);
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    copy_box(op.in(i), op.in_shape(i), zeros, y, op.out_shape(), begin, op.in_shape(i));
    begin[axis] += op.in_shape(i)[axis];
  }
}

void slice(OpRun& op) {
  const auto& a = op.attributes<SliceAttributes>();
  copy_box(op.in(0), op.in_shape(0), a.begin, op.out(), op.out_shape(),
           std::vector<std::int64_t>(a.begin.size(), 0), op.out_shape());
}

void pad2d(OpRun& op) {
  const auto& p = op.attributes<Padding2D>();
  copy_box(op.in(0), op.in_shape(0), {0, 0, 0, 0}, op.out(), op.out_shape(), {0, p.top, p.left, 0},
           op.in_shape(0));
}

void reshape(OpRun& op) { op.out() = op.in(0); }

void dropout(OpRun& op) {
  const auto& a = op.attributes<DropoutAttributes>();
  const Arguments& s = op.arguments;
  const std::uint64_t key = dropout_key(s.seed, s.step, s.leaf, a.layer, a.call);
  Tensor& y = op.out();
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float draw = uniform_from_bits(dropout_block(key, i / 4).v[i % 4]);
    y[i] = draw >= a.rate ? op.in(0)[i] / (1 - static_cast<double>(a.rate)) : 0;
  }
}

void fill(OpRun& op) {
  Tensor& y = op.out();
  std::fill(y.begin(), y.end(), op.attributes<ScaleAttributes>().factor);
}

}  // namespace stoker::graph::reference
