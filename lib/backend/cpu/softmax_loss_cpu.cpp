// softmax, its gradient, losses and metrics. Losses and metrics write one double a row into scratch and add
// them in order on one thread: the sums do not depend on the threads.
#include <stdexcept>

#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

// An exponential a value costs about as much as this many elements of plain work.
constexpr std::int64_t kExponentialCost = 4;

class Softmax final : public Kernel {
 public:
  explicit Softmax(const CompileContext& context)
      : functions_(context.functions),
        x_(context.input(0)),
        y_(context.output(0)),
        c_(context.shape(y_).back()),
        rows_(context.shape(y_).elements() / c_) {}
  void run(const Run& run) override {
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    parallel_ranges(rows_, 1, c_ * kExponentialCost, [&](std::int64_t begin, std::int64_t end) {
      functions_.softmax(x + begin * c_, y + begin * c_, end - begin, c_);
    });
  }

 private:
  const Functions& functions_;
  graph::ValueId x_, y_;
  std::int64_t c_, rows_;
};

class SoftmaxGrad final : public Kernel {
 public:
  explicit SoftmaxGrad(const CompileContext& context)
      : functions_(context.functions),
        dy_(context.input(0)),
        y_(context.input(1)),
        dx_(context.output(0)),
        c_(context.shape(dx_).back()),
        rows_(context.shape(dx_).elements() / c_) {}
  void run(const Run& run) override {
    const float* dy = run.f32(dy_);
    const float* y = run.f32(y_);
    float* dx = run.f32(dx_);
    parallel_ranges(rows_, 1, c_, [&](std::int64_t begin, std::int64_t end) {
      functions_.softmax_gradient(dy + begin * c_, y + begin * c_, dx + begin * c_, end - begin, c_);
    });
  }

 private:
  const Functions& functions_;
  graph::ValueId dy_, y_, dx_;
  std::int64_t c_, rows_;
};

// Rows of a loss or metric: classes of a position, or all of a sample's values.
struct Rows {
  std::int64_t samples, rows, c;
  Rows(const CompileContext& context, bool by_class) {
    const Shape& shape = context.shape(context.input(0));
    samples = shape[0];
    c = by_class ? shape.back() : shape.elements() / samples;
    rows = shape.elements() / c;
  }
  double positions() const { return static_cast<double>(rows) / static_cast<double>(samples); }
  // Σ of the rows' values / positions: the sum over samples of the mean over positions.
  float total(const double* values) const {
    double sum = 0.0;
    for (std::int64_t row = 0; row < rows; ++row) sum += values[row];
    return static_cast<float>(sum / positions());
  }
};

void require_target(const CompileContext& context, bool labels, std::int64_t elements) {
  const graph::Value& target = context.value(context.input(1));
  if (target.dtype != (labels ? DType::i32 : DType::f32) || target.shape.elements() != elements)
    throw std::logic_error(context.op.name + ": a target of type " + std::string(name_of(target.dtype)) +
                           " and shape " + to_string(target.shape) + " does not fit");
}

class Loss final : public Kernel {
 public:
  explicit Loss(const CompileContext& context)
      : functions_(context.functions),
        attributes_(context.attributes<graph::LossAttributes>()),
        prediction_(context.input(0)),
        target_(context.input(1)),
        sum_(context.output(0)),
        d_(context.output(1)),
        sparse_(attributes_.kind == graph::LossKind::sparse_categorical_crossentropy),
        by_class_(sparse_ || attributes_.kind == graph::LossKind::categorical_crossentropy),
        rows_(context, by_class_),
        values_(reserve_scratch(static_cast<std::size_t>(rows_.rows) * sizeof(double))) {
    require_target(context, sparse_, sparse_ ? rows_.rows : rows_.rows * rows_.c);
  }

  void run(const Run& run) override {
    const float* prediction = run.f32(prediction_);
    const std::byte* target = run.values[target_];
    float* d = run.f32_or_null(d_);
    double* values = run.scratch_at<double>(values_);
    const std::int64_t c = rows_.c, target_row = (sparse_ ? 1 : c) * std::int64_t{sizeof(float)};
    const double count = by_class_ ? rows_.positions() : static_cast<double>(c);
    const float scale = static_cast<float>(static_cast<double>(run.arguments->loss_seed) / count);
    parallel_ranges(rows_.rows, 1, c * kExponentialCost, [&](std::int64_t begin, std::int64_t end) {
      const float* p = prediction + begin * c;
      const std::byte* t = target + begin * target_row;
      float* d_rows = d == nullptr ? nullptr : d + begin * c;
      if (by_class_)
        functions_.class_loss(attributes_, p, t, d_rows, scale, values + begin, end - begin, c);
      else
        functions_.element_loss(attributes_, p, reinterpret_cast<const float*>(t), d_rows, scale,
                                values + begin, end - begin, c);
    });
    *run.f32(sum_) = rows_.total(values);
  }

 private:
  const Functions& functions_;
  graph::LossAttributes attributes_;
  graph::ValueId prediction_, target_, sum_, d_;
  bool sparse_, by_class_;
  Rows rows_;
  std::size_t values_;
};

bool metric_is_sparse(graph::MetricKind kind) {
  return kind == graph::MetricKind::sparse_categorical_accuracy ||
         kind == graph::MetricKind::sparse_top_k_categorical_accuracy;
}
bool metric_is_by_class(graph::MetricKind kind) {
  return metric_is_sparse(kind) || kind == graph::MetricKind::categorical_accuracy ||
         kind == graph::MetricKind::top_k_categorical_accuracy;
}

class Metric final : public Kernel {
 public:
  explicit Metric(const CompileContext& context)
      : functions_(context.functions),
        attributes_(context.attributes<graph::MetricAttributes>()),
        prediction_(context.input(0)),
        target_(context.input(1)),
        sum_(context.output(0)),
        rows_(context, metric_is_by_class(attributes_.kind)),
        values_(reserve_scratch(static_cast<std::size_t>(rows_.rows) * sizeof(double))) {
    const bool sparse = metric_is_sparse(attributes_.kind);
    require_target(context, sparse, sparse ? rows_.rows : rows_.rows * rows_.c);
    target_row_ = (sparse ? 1 : rows_.c) * std::int64_t{sizeof(float)};
  }

  void run(const Run& run) override {
    const float* prediction = run.f32(prediction_);
    const std::byte* target = run.values[target_];
    double* values = run.scratch_at<double>(values_);
    parallel_ranges(rows_.rows, 1, rows_.c, [&](std::int64_t begin, std::int64_t end) {
      functions_.metric(attributes_, prediction + begin * rows_.c, target + begin * target_row_,
                        values + begin, end - begin, rows_.c);
    });
    *run.f32(sum_) = rows_.total(values);
  }

 private:
  const Functions& functions_;
  graph::MetricAttributes attributes_;
  graph::ValueId prediction_, target_, sum_;
  Rows rows_;
  std::size_t values_;
  std::int64_t target_row_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax(const CompileContext& context) {
  return std::make_unique<Softmax>(context);
}
std::unique_ptr<Kernel> make_softmax_grad(const CompileContext& context) {
  return std::make_unique<SoftmaxGrad>(context);
}
std::unique_ptr<Kernel> make_loss(const CompileContext& context) { return std::make_unique<Loss>(context); }
std::unique_ptr<Kernel> make_metric(const CompileContext& context) {
  return std::make_unique<Metric>(context);
}

}  // namespace stoker::backend::cpu
