#include <omp.h>

#include <cstring>

#include "lib/backend/cpu/column_sums.h"
#include "lib/backend/cpu/conv_pool.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

using graph::Op;

// The convolution's input with its padding around, one sample at a time in a thread's own scratch; the input
// itself where there is no padding.
class PaddedInput {
 public:
  PaddedInput(const Shape& x, const graph::Padding2D& padding)
      : h_(x[1]),
        row_(x[2] * x[3]),
        left_(padding.left * x[3]),
        width_((padding.left + x[2] + padding.right) * x[3]),
        height_(padding.top + x[1] + padding.bottom),
        top_(padding.top) {}

  std::int64_t line() const { return width_; }  // floats
  std::size_t scratch_bytes() const {
    return is_plain() ? 0 : static_cast<std::size_t>(omp_get_max_threads() * size()) * sizeof(float);
  }
  const float* sample(const float* x, std::int64_t index, float* scratch) const {
    const float* from = x + index * h_ * row_;
    if (is_plain()) return from;
    float* to = scratch + omp_get_thread_num() * size();
    std::memset(to, 0, static_cast<std::size_t>(size()) * sizeof(float));
    for (std::int64_t i = 0; i < h_; ++i)
      std::memcpy(to + (top_ + i) * width_ + left_, from + i * row_,
                  static_cast<std::size_t>(row_) * sizeof(float));
    return to;
  }

 private:
  bool is_plain() const { return width_ == row_ && height_ == h_; }
  std::int64_t size() const { return width_ * height_; }

  std::int64_t h_, row_, left_, width_, height_, top_;
};

// What both kernels need of the convolution x, w and its pooled output y.
class Geometry {
 public:
  Geometry(const Shape& x, const Shape& w, const Shape& y, const graph::Conv2DAttributes& a, bool relu)
      : input(x, a.padding) {
    const std::int64_t c = x[3], line = input.line();
    for (std::int64_t i = 0; i < w[0]; ++i)
      for (std::int64_t j = 0; j < w[1]; ++j)
        for (std::int64_t channel = 0; channel < c; ++channel)
          offsets_.push_back(i * a.dilation_h * line + j * a.dilation_w * c + channel);
    shape = {.pooled_h = y[1],
             .pooled_w = y[2],
             .channels = y[3],
             .cell_step = a.stride_w * c,
             .cell_line = a.stride_h * line,
             .taps = static_cast<std::int64_t>(offsets_.size()),
             .tap_offsets = offsets_.data(),
             .relu = relu};
  }
  Geometry(const Geometry&) = delete;  // shape points into it
  Geometry& operator=(const Geometry&) = delete;

  // Multiply-adds of a line of windows.
  std::int64_t line_work() const { return 4 * shape.pooled_w * shape.channels * shape.taps; }

  PaddedInput input;
  ConvPoolShape shape;

 private:
  std::vector<std::int64_t> offsets_;
};

class ConvPool final : public Kernel {
 public:
  ConvPool(const CompileContext& context, const Op& convolution)
      : functions_(context.functions),
        x_(convolution.inputs[0]),
        w_(convolution.inputs[1]),
        bias_(convolution.inputs.size() > 2 ? convolution.inputs[2] : graph::kNoValue),
        y_(context.output(0)),
        argmax_(context.output(1)),
        lines_(context.shape(y_)[0] * context.shape(y_)[1]),
        geometry_(context.shape(x_), context.shape(w_), context.shape(y_),
                  std::get<graph::Conv2DAttributes>(convolution.attributes),
                  std::get<graph::Conv2DAttributes>(convolution.attributes).activation.kind ==
                      graph::ActivationKind::relu),
        padded_(reserve_scratch(geometry_.input.scratch_bytes())) {}

  void run(const Run& run) override {
    const ConvPoolShape& s = geometry_.shape;
    const float *w = run.f32(w_), *bias = run.f32_or_null(bias_);
    float* y = run.f32(y_);
    auto* argmax =
        argmax_ == graph::kNoValue ? nullptr : reinterpret_cast<std::uint8_t*>(run.values[argmax_]);
    const std::int64_t out_line = s.pooled_w * s.channels;
    parallel_ranges(lines_, 1, geometry_.line_work(), [&](std::int64_t begin, std::int64_t end) {
      const float* sample = nullptr;
      for (std::int64_t line = begin; line < end; ++line) {
        const std::int64_t i = line % s.pooled_h, out = line * out_line;
        if (line == begin || i == 0)
          sample = geometry_.input.sample(run.f32(x_), line / s.pooled_h, run.scratch_at<float>(padded_));
        functions_.conv_pool_line(s, sample + 2 * i * s.cell_line, w, bias, y + out,
                                  argmax == nullptr ? nullptr : argmax + out);
      }
    });
  }

 private:
  const Functions& functions_;
  graph::ValueId x_, w_, bias_, y_, argmax_;
  std::int64_t lines_;
  Geometry geometry_;
  std::size_t padded_;
};

// Every sample's gradients go to scratch; the samples are added up in a fixed order.
class ConvPoolGradWeights final : public Kernel {
 public:
  ConvPoolGradWeights(const CompileContext& context, const Op& pool_gradient)
      : functions_(context.functions),
        x_(context.input(0)),
        dy_(pool_gradient.inputs[0]),
        argmax_(pool_gradient.inputs[1]),
        y_(pool_gradient.inputs.size() > 2 ? pool_gradient.inputs[2] : graph::kNoValue),
        dw_(context.output(0)),
        db_(context.output(1)),
        samples_(context.shape(x_)[0]),
        geometry_(context.shape(x_), context.shape(dw_), context.shape(dy_),
                  context.attributes<graph::Conv2DAttributes>(), y_ != graph::kNoValue),
        weight_sums_(context.functions, samples_, context.shape(dw_).elements()),
        bias_sums_(context.functions, samples_, geometry_.shape.channels),
        padded_(reserve_scratch(geometry_.input.scratch_bytes())),
        weight_parts_(reserve_scratch(part_bytes(context.shape(dw_).elements()))),
        bias_parts_(reserve_scratch(part_bytes(geometry_.shape.channels))),
        sums_scratch_(reserve_scratch(weight_sums_.scratch_bytes())) {}

  void run(const Run& run) override {
    const ConvPoolShape& s = geometry_.shape;
    const float *dy = run.f32(dy_), *y = run.f32(y_ == graph::kNoValue ? dy_ : y_);
    const auto* argmax = reinterpret_cast<const std::uint8_t*>(run.values[argmax_]);
    auto *weight_parts = run.scratch_at<float>(weight_parts_),
         *bias_parts = run.scratch_at<float>(bias_parts_);
    const std::int64_t size = s.pooled_h * s.pooled_w * s.channels, weights = s.taps * s.channels;
    parallel_ranges(
        samples_, 1, s.pooled_h * geometry_.line_work(), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const float* sample = geometry_.input.sample(run.f32(x_), i, run.scratch_at<float>(padded_));
            functions_.conv_pool_gradient(s, sample, dy + i * size, y + i * size, argmax + i * size,
                                          weight_parts + i * weights,
                                          db_ == graph::kNoValue ? nullptr : bias_parts + i * s.channels);
          }
        });
    auto* scratch = run.scratch_at<float>(sums_scratch_);
    weight_sums_.run(weight_parts, run.f32(dw_), scratch);
    if (db_ != graph::kNoValue) bias_sums_.run(bias_parts, run.f32(db_), scratch);
  }

 private:
  std::size_t part_bytes(std::int64_t floats) const {
    return static_cast<std::size_t>(samples_ * floats) * sizeof(float);
  }

  const Functions& functions_;
  graph::ValueId x_, dy_, argmax_, y_, dw_, db_;
  std::int64_t samples_;
  Geometry geometry_;
  ColumnSums weight_sums_, bias_sums_;
  std::size_t padded_, weight_parts_, bias_parts_, sums_scratch_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv_pool(const CompileContext& context, const Op& convolution) {
  return std::make_unique<ConvPool>(context, convolution);
}
std::unique_ptr<Kernel> make_conv_pool_grad_weights(const CompileContext& context, const Op& pool_gradient) {
  return std::make_unique<ConvPoolGradWeights>(context, pool_gradient);
}

}  // namespace stoker::backend::cpu
