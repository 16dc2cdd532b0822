// pool2d, global_pool and their gradients: own kernels, divided by lines of the image or by samples.
#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

PoolShape pool_shape(const Shape& x, const Shape& y, const graph::Pool2DAttributes& a) {
  return {x[1],       x[2],       x[3],       y[1],          y[2],          a.window_h,
          a.window_w, a.stride_h, a.stride_w, a.padding.top, a.padding.left};
}

class Pool2D final : public Kernel {
 public:
  Pool2D(const CompileContext& context, bool relu)
      : functions_(context.functions),
        relu_(relu),
        is_max_(context.attributes<graph::Pool2DAttributes>().is_max),
        x_(context.input(0)),
        y_(context.output(0)),
        argmax_(context.output(1)),
        shape_(
            pool_shape(context.shape(x_), context.shape(y_), context.attributes<graph::Pool2DAttributes>())),
        lines_(context.shape(y_)[0] * shape_.oh),
        line_cost_(shape_.ow * shape_.c * shape_.window_h * shape_.window_w) {}

  void run(const Run& run) override {
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    auto* argmax =
        argmax_ == graph::kNoValue ? nullptr : reinterpret_cast<std::uint8_t*>(run.values[argmax_]);
    parallel_ranges(lines_, 1, line_cost_, [&](std::int64_t begin, std::int64_t end) {
      if (is_max_)
        functions_.max_pool(shape_, relu_, x, y, argmax, begin, end);
      else
        functions_.average_pool(shape_, x, y, begin, end);
    });
  }

 private:
  const Functions& functions_;
  bool relu_, is_max_;
  graph::ValueId x_, y_, argmax_;
  PoolShape shape_;
  std::int64_t lines_, line_cost_;
};

class Pool2DGrad final : public Kernel {
 public:
  explicit Pool2DGrad(const CompileContext& context)
      : functions_(context.functions),
        is_max_(context.attributes<graph::Pool2DAttributes>().is_max),
        dy_(context.input(0)),
        argmax_(context.input(1)),
        y_(context.input(2)),
        dx_(context.output(0)),
        shape_(pool_shape(context.shape(dx_), context.shape(dy_),
                          context.attributes<graph::Pool2DAttributes>())),
        lines_(context.shape(dx_)[0] * shape_.h) {}

  void run(const Run& run) override {
    const float* dy = run.f32(dy_);
    float* dx = run.f32(dx_);
    parallel_ranges(lines_, 1, shape_.w * shape_.c, [&](std::int64_t begin, std::int64_t end) {
      if (is_max_)
        functions_.max_pool_gradient(shape_, dy, reinterpret_cast<const std::uint8_t*>(run.values[argmax_]),
                                     run.f32_or_null(y_), dx, begin, end);
      else
        functions_.average_pool_gradient(shape_, dy, dx, begin, end);
    });
  }

 private:
  const Functions& functions_;
  bool is_max_;
  graph::ValueId dy_, argmax_, y_, dx_;
  PoolShape shape_;
  std::int64_t lines_;
};

class GlobalPool final : public Kernel {
 public:
  explicit GlobalPool(const CompileContext& context)
      : functions_(context.functions),
        is_max_(context.attributes<graph::GlobalPoolAttributes>().is_max),
        x_(context.input(0)),
        y_(context.output(0)),
        samples_(context.shape(y_)[0]),
        c_(context.shape(y_).back()),
        positions_(context.shape(x_).elements() / (samples_ * c_)) {}

  void run(const Run& run) override {
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    const auto pool = is_max_ ? functions_.global_max_pool : functions_.global_average_pool;
    parallel_ranges(samples_, 1, positions_ * c_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) pool(x + i * positions_ * c_, positions_, c_, y + i * c_);
    });
  }

 private:
  const Functions& functions_;
  bool is_max_;
  graph::ValueId x_, y_;
  std::int64_t samples_, c_, positions_;
};

class GlobalPoolGrad final : public Kernel {
 public:
  explicit GlobalPoolGrad(const CompileContext& context)
      : functions_(context.functions),
        is_max_(context.attributes<graph::GlobalPoolAttributes>().is_max),
        dy_(context.input(0)),
        x_(context.input(1)),
        y_(context.input(2)),
        dx_(context.output(0)),
        samples_(context.shape(dy_)[0]),
        c_(context.shape(dy_).back()),
        positions_(context.shape(dx_).elements() / (samples_ * c_)) {}

  void run(const Run& run) override {
    const float* dy = run.f32(dy_);
    float* dx = run.f32(dx_);
    parallel_ranges(samples_, 1, positions_ * c_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i * positions_ * c_;
        if (is_max_)
          functions_.global_max_pool_gradient(dy + i * c_, run.f32(x_) + at, run.f32(y_) + i * c_, positions_,
                                              c_, dx + at);
        else
          functions_.global_average_pool_gradient(dy + i * c_, positions_, c_, dx + at);
      }
    });
  }

 private:
  const Functions& functions_;
  bool is_max_;
  graph::ValueId dy_, x_, y_, dx_;
  std::int64_t samples_, c_, positions_;
};

}  // namespace

std::unique_ptr<Kernel> make_pool2d(const CompileContext& context) {
  return std::make_unique<Pool2D>(context, false);
}
std::unique_ptr<Kernel> make_pool2d_with_relu(const CompileContext& context) {
  return std::make_unique<Pool2D>(context, true);
}
std::unique_ptr<Kernel> make_pool2d_grad(const CompileContext& context) {
  return std::make_unique<Pool2DGrad>(context);
}
std::unique_ptr<Kernel> make_global_pool(const CompileContext& context) {
  return std::make_unique<GlobalPool>(context);
}
std::unique_ptr<Kernel> make_global_pool_grad(const CompileContext& context) {
  return std::make_unique<GlobalPoolGrad>(context);
}

}  // namespace stoker::backend::cpu
