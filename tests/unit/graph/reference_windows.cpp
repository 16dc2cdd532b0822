// Convolution, matrix product and pooling of the reference interpreter.
#include <algorithm>
#include <limits>

#include "tests/unit/graph/reference_ops.h"

namespace stoker::graph::reference {
namespace {

std::size_t at(const Shape& s, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return static_cast<std::size_t>(((a * s[1] + b) * s[2] + c) * s[3] + d);
}

// Calls f(index in x, in w, in y) for each product that the convolution sums.
template <typename F>
void for_each_product(const Conv2DAttributes& a, const Shape& x, const Shape& w, const Shape& y, F f) {
  const std::int64_t outputs_per_group = w[3] / a.groups;
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t oh = 0; oh < y[1]; ++oh)
      for (std::int64_t ow = 0; ow < y[2]; ++ow)
        for (std::int64_t o = 0; o < y[3]; ++o)
          for (std::int64_t kh = 0; kh < w[0]; ++kh)
            for (std::int64_t kw = 0; kw < w[1]; ++kw) {
              const std::int64_t h = oh * a.stride_h + kh * a.dilation_h - a.padding.top;
              const std::int64_t v = ow * a.stride_w + kw * a.dilation_w - a.padding.left;
              if (h < 0 || h >= x[1] || v < 0 || v >= x[2]) continue;
              const std::int64_t first_channel = o / outputs_per_group * w[2];
              for (std::int64_t c = 0; c < w[2]; ++c)
                f(at(x, n, h, v, first_channel + c), at(w, kh, kw, c, o), at(y, n, oh, ow, o));
            }
}

// Calls f(index in x, in w, in y) for each product of the matrix product y[n,m] = x[n,k]·w[k,m].
template <typename F>
void for_each_product(const Shape& x, const Shape& w, F f) {
  for (std::int64_t n = 0; n < x[0]; ++n)
    for (std::int64_t m = 0; m < w[1]; ++m)
      for (std::int64_t k = 0; k < x[1]; ++k)
        f(static_cast<std::size_t>(n * x[1] + k), static_cast<std::size_t>(k * w[1] + m),
          static_cast<std::size_t>(n * w[1] + m));
}

// Calls f(index in y, index in x, cell) for each cell of each window that is no padding, in row order.
template <typename F>
void for_each_cell(const Pool2DAttributes& a, const Shape& x, const Shape& y, F f) {
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t oh = 0; oh < y[1]; ++oh)
      for (std::int64_t ow = 0; ow < y[2]; ++ow)
        for (std::int64_t c = 0; c < y[3]; ++c)
          for (std::int64_t i = 0; i < a.window_h; ++i)
            for (std::int64_t j = 0; j < a.window_w; ++j) {
              const std::int64_t h = oh * a.stride_h + i - a.padding.top,
                                 v = ow * a.stride_w + j - a.padding.left;
              if (h < 0 || h >= x[1] || v < 0 || v >= x[2]) continue;
              f(at(y, n, oh, ow, c), at(x, n, h, v, c), i * a.window_w + j);
            }
}

// y ← act(y + bias) over the last axis.
void add_bias_and_activate(OpRun& op, const ActivationAttributes& a, Tensor& y) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (op.has(2)) y[i] += op.in(2)[i % op.in(2).size()];
    y[i] = activate(a, y[i]);
  }
}

void sum_bias_gradient(OpRun& op, const Tensor& dy) {
  if (!op.has_output(1)) return;
  Tensor& db = op.out(1);
  for (std::size_t i = 0; i < dy.size(); ++i) db[i % db.size()] += dy[i];
}

// Calls f(index in y, index in x) for each element of x that global pooling joins into y.
template <typename F>
void for_each_pooled(const Shape& x, F f) {
  const std::size_t channels = static_cast<std::size_t>(x.back());
  const std::size_t per_sample = static_cast<std::size_t>(x.elements() / x[0]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(x.elements()); ++i)
    f(i / per_sample * channels + i % channels, i);
}

}  // namespace

void conv2d(OpRun& op) {
  const auto& a = op.attributes<Conv2DAttributes>();
  const Tensor &x = op.in(0), &w = op.in(1);
  Tensor& y = op.out();
  for_each_product(a, op.in_shape(0), op.in_shape(1), op.out_shape(),
                   [&](std::size_t xi, std::size_t wi, std::size_t yi) { y[yi] += x[xi] * w[wi]; });
  add_bias_and_activate(op, a.activation, y);
}

void conv2d_grad_input(OpRun& op) {
  const Tensor &dy = op.in(0), &w = op.in(1);
  Tensor& dx = op.out();
  for_each_product(op.attributes<Conv2DAttributes>(), op.out_shape(), op.in_shape(1), op.in_shape(0),
                   [&](std::size_t xi, std::size_t wi, std::size_t yi) { dx[xi] += dy[yi] * w[wi]; });
}

void conv2d_grad_weights(OpRun& op) {
  const Tensor &x = op.in(0), &dy = op.in(1);
  Tensor& dw = op.out();
  for_each_product(op.attributes<Conv2DAttributes>(), op.in_shape(0), op.out_shape(), op.in_shape(1),
                   [&](std::size_t xi, std::size_t wi, std::size_t yi) { dw[wi] += dy[yi] * x[xi]; });
  sum_bias_gradient(op, dy);
}

void matmul(OpRun& op) {
  const Tensor &x = op.in(0), &w = op.in(1);
  Tensor& y = op.out();
  for_each_product(op.in_shape(0), op.in_shape(1),
                   [&](std::size_t xi, std::size_t wi, std::size_t yi) { y[yi] += x[xi] * w[wi]; });
  add_bias_and_activate(op, op.attributes<MatMulAttributes>().activation, y);
}

void matmul_grad_input(OpRun& op) {
  const Tensor &dy = op.in(0), &w = op.in(1);
  Tensor& dx = op.out();
  for_each_product(op.out_shape(), op.in_shape(1),
                   [&](std::size_t xi, std::size_t wi, std::size_t yi) { dx[xi] += dy[yi] * w[wi]; });
}

void matmul_grad_weights(OpRun& op) {
  const Tensor &x = op.in(0), &dy = op.in(1);
  Tensor& dw = op.out();
  for_each_product(op.in_shape(0), op.out_shape(),
                   [&](std::size_t xi, std::size_t wi, std::size_t yi) { dw[wi] += dy[yi] * x[xi]; });
  sum_bias_gradient(op, dy);
}

void pool2d(OpRun& op) {
  const auto& a = op.attributes<Pool2DAttributes>();
  const Tensor& x = op.in(0);
  Tensor& y = op.out();
  Tensor cells(y.size(), 0.0);
  Tensor argmax(y.size(), 0.0);
  for_each_cell(a, op.in_shape(0), op.out_shape(), [&](std::size_t yi, std::size_t xi, std::int64_t cell) {
    if (a.is_max && (cells[yi] == 0 || x[xi] > y[yi])) {
      y[yi] = x[xi];
      argmax[yi] = static_cast<double>(cell);
    }
    if (!a.is_max) y[yi] += x[xi];
    ++cells[yi];
  });
  if (!a.is_max)
    for (std::size_t i = 0; i < y.size(); ++i) y[i] /= cells[i];
  if (op.has_output(1)) op.out(1) = argmax;
}

void pool2d_grad(OpRun& op) {
  const auto& a = op.attributes<Pool2DAttributes>();
  Tensor dy = op.in(0);
  if (op.has(2))
    for (std::size_t i = 0; i < dy.size(); ++i)
      if (op.in(2)[i] <= 0) dy[i] = 0;
  Tensor cells(dy.size(), 0.0);
  for_each_cell(a, op.out_shape(), op.in_shape(0),
                [&](std::size_t yi, std::size_t, std::int64_t) { ++cells[yi]; });
  Tensor& dx = op.out();
  for_each_cell(a, op.out_shape(), op.in_shape(0), [&](std::size_t yi, std::size_t xi, std::int64_t cell) {
    if (!a.is_max) dx[xi] += dy[yi] / cells[yi];
    if (a.is_max && op.in(1)[yi] == static_cast<double>(cell)) dx[xi] += dy[yi];
  });
}

void global_pool(OpRun& op) {
  const bool is_max = op.attributes<GlobalPoolAttributes>().is_max;
  const Tensor& x = op.in(0);
  Tensor& y = op.out();
  if (is_max) std::fill(y.begin(), y.end(), -std::numeric_limits<double>::infinity());
  for_each_pooled(op.in_shape(0), [&](std::size_t yi, std::size_t xi) {
    y[yi] = is_max ? std::max(y[yi], x[xi]) : y[yi] + x[xi];
  });
  if (!is_max)
    for (double& v : y) v /= static_cast<double>(x.size() / y.size());
}

void global_pool_grad(OpRun& op) {
  const bool is_max = op.attributes<GlobalPoolAttributes>().is_max;
  const Tensor& dy = op.in(0);
  Tensor& dx = op.out();
  Tensor share(dy.size(), 0.0);
  const auto counts = [&](std::size_t yi, std::size_t xi) { return !is_max || op.in(1)[xi] == op.in(2)[yi]; };
  for_each_pooled(op.out_shape(),
                  [&](std::size_t yi, std::size_t xi) { share[yi] += counts(yi, xi) ? 1 : 0; });
  for_each_pooled(op.out_shape(), [&](std::size_t yi, std::size_t xi) {
    if (counts(yi, xi)) dx[xi] = dy[yi] / share[yi];
  });
}

}  // namespace stoker::graph::reference
