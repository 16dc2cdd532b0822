// Batch normalisation, training and inference. Own kernels: with the fused ReLU they take half the time of
// oneDNN's.
//
// Statistics are taken in chunks of rows whose length depends on the shape only; the chunks' moments are
// combined in double (Chan, Golub, LeVeque: "Updating formulae and a pairwise algorithm for computing sample
// variances", 1979). So they are accurate where the mean is far from 0, and do not depend on the threads.
#include <cmath>

#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

// rows × c cut into chunks that fit a second-level cache.
struct Chunks {
  std::int64_t rows, c, length, count;

  explicit Chunks(const Shape& shape)
      : rows(shape.elements() / shape.back()), c(shape.back()), length(65536 / c) {
    length = length < 16 ? 16 : (length > 256 ? 256 : length);
    count = (rows + length - 1) / length;
  }
  std::int64_t size(std::int64_t chunk) const { return chunk + 1 < count ? length : rows - chunk * length; }
  // Two floats a channel and chunk.
  std::size_t scratch_bytes() const { return static_cast<std::size_t>(2 * count * c) * sizeof(float); }
  std::size_t channel_bytes() const { return static_cast<std::size_t>(c) * sizeof(float); }

  // body(chunk) on the thread that the chunk belongs to.
  template <typename Body>
  void for_each(const Body& body) const {
    parallel_ranges(count, 1, length * c, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk) body(chunk);
    });
  }
};

float value_or(const float* values, std::int64_t j, float otherwise) {
  return values == nullptr ? otherwise : values[j];
}

// The common end of training and inference: y = act((x − mean)·gamma/√(variance + epsilon) + beta).
class Normalize {
 public:
  Normalize(const CompileContext& context, const Chunks& chunks)
      : functions_(context.functions),
        attributes_(context.attributes<graph::BatchNormAttributes>()),
        chunks_(chunks) {}
  std::size_t scratch_bytes() const { return 2 * chunks_.channel_bytes(); }

  void run(const float* x, const float* gamma, const float* beta, const float* mean, const float* variance,
           float* y, float* scratch) const {
    const std::int64_t c = chunks_.c;
    float *factor = scratch, *offset = scratch + c;
    for (std::int64_t j = 0; j < c; ++j) {
      factor[j] = value_or(gamma, j, 1.0f) / std::sqrt(variance[j] + attributes_.epsilon);
      offset[j] = value_or(beta, j, 0.0f);
    }
    chunks_.for_each([&](std::int64_t chunk) {
      const std::int64_t at = chunk * chunks_.length * c;
      functions_.batch_norm_apply(attributes_.activation, x + at, mean, factor, offset, y + at,
                                  chunks_.size(chunk), c);
    });
  }

 private:
  const Functions& functions_;
  graph::BatchNormAttributes attributes_;
  Chunks chunks_;
};

class BatchNorm final : public Kernel {
 public:
  explicit BatchNorm(const CompileContext& context)
      : functions_(context.functions),
        x_(context.input(0)),
        gamma_(context.input(1)),
        beta_(context.input(2)),
        y_(context.output(0)),
        mean_(context.output(1)),
        variance_(context.output(2)),
        chunks_(context.shape(x_)),
        normalize_(context, chunks_),
        moments_(reserve_scratch(chunks_.scratch_bytes())),
        statistics_(reserve_scratch(2 * chunks_.channel_bytes())),
        factors_(reserve_scratch(normalize_.scratch_bytes())) {}

  void run(const Run& run) override {
    const std::int64_t c = chunks_.c;
    const float* x = run.f32(x_);
    auto* moments = run.scratch_at<float>(moments_);
    chunks_.for_each([&](std::int64_t chunk) {
      functions_.batch_norm_moments(x + chunk * chunks_.length * c, chunks_.size(chunk), c,
                                    moments + 2 * chunk * c, moments + (2 * chunk + 1) * c);
    });
    auto* own = run.scratch_at<float>(statistics_);
    float* mean = mean_ == graph::kNoValue ? own : run.f32(mean_);
    float* variance = variance_ == graph::kNoValue ? own + c : run.f32(variance_);
    for (std::int64_t j = 0; j < c; ++j) combine(moments, j, mean, variance);
    normalize_.run(x, run.f32_or_null(gamma_), run.f32_or_null(beta_), mean, variance, run.f32(y_),
                   run.scratch_at<float>(factors_));
  }

 private:
  void combine(const float* moments, std::int64_t j, float* mean, float* variance) const {
    double m = 0.0, squares = 0.0, n = 0.0;
    for (std::int64_t chunk = 0; chunk < chunks_.count; ++chunk) {
      const auto size = static_cast<double>(chunks_.size(chunk));
      const double delta = static_cast<double>(moments[2 * chunk * chunks_.c + j]) - m;
      m += delta * size / (n + size);
      squares += static_cast<double>(moments[(2 * chunk + 1) * chunks_.c + j]) +
                 delta * delta * n * size / (n + size);
      n += size;
    }
    mean[j] = static_cast<float>(m);
    variance[j] = static_cast<float>(squares / n);
  }

  const Functions& functions_;
  graph::ValueId x_, gamma_, beta_, y_, mean_, variance_;
  Chunks chunks_;
  Normalize normalize_;
  std::size_t moments_, statistics_, factors_;
};

class BatchNormInference final : public Kernel {
 public:
  explicit BatchNormInference(const CompileContext& context)
      : x_(context.input(0)),
        gamma_(context.input(1)),
        beta_(context.input(2)),
        mean_(context.input(3)),
        variance_(context.input(4)),
        y_(context.output(0)),
        normalize_(context, Chunks(context.shape(x_))),
        factors_(reserve_scratch(normalize_.scratch_bytes())) {}
  void run(const Run& run) override {
    normalize_.run(run.f32(x_), run.f32_or_null(gamma_), run.f32_or_null(beta_), run.f32(mean_),
                   run.f32(variance_), run.f32(y_), run.scratch_at<float>(factors_));
  }

 private:
  graph::ValueId x_, gamma_, beta_, mean_, variance_, y_;
  Normalize normalize_;
  std::size_t factors_;
};

// With x̂ = (x − mean)/σ, σ = √(variance + epsilon), R rows, d = dy where the fused ReLU passes:
// dbeta = Σ d, dgamma = Σ d·x̂, dx = gamma/σ · (d − dbeta/R − x̂·dgamma/R).
class BatchNormGrad final : public Kernel {
 public:
  explicit BatchNormGrad(const CompileContext& context)
      : functions_(context.functions),
        epsilon_(context.attributes<graph::BatchNormAttributes>().epsilon),
        ceiling_(context.attributes<graph::BatchNormAttributes>().activation.max_value),
        dy_(context.input(0)),
        x_(context.input(1)),
        gamma_(context.input(2)),
        mean_(context.input(3)),
        variance_(context.input(4)),
        y_(context.input(5)),
        dx_(context.output(0)),
        dgamma_(context.output(1)),
        dbeta_(context.output(2)),
        chunks_(context.shape(x_)),
        sums_(reserve_scratch(chunks_.scratch_bytes())),
        factors_(reserve_scratch(3 * chunks_.channel_bytes())) {}

  void run(const Run& run) override {
    const std::int64_t c = chunks_.c;
    const float *dy = run.f32(dy_), *x = run.f32(x_), *y = run.f32_or_null(y_), *mean = run.f32(mean_);
    auto* sums = run.scratch_at<float>(sums_);
    chunks_.for_each([&](std::int64_t chunk) {
      const std::int64_t at = chunk * chunks_.length * c;
      functions_.batch_norm_gradient_sums(dy + at, x + at, y == nullptr ? nullptr : y + at, ceiling_, mean,
                                          chunks_.size(chunk), c, sums + 2 * chunk * c,
                                          sums + (2 * chunk + 1) * c);
    });
    auto* factors = run.scratch_at<float>(factors_);
    for (std::int64_t j = 0; j < c; ++j) combine(run, sums, j, factors);
    if (dx_ == graph::kNoValue) return;
    float* dx = run.f32(dx_);
    chunks_.for_each([&](std::int64_t chunk) {
      const std::int64_t at = chunk * chunks_.length * c;
      functions_.batch_norm_gradient_apply(dy + at, x + at, y == nullptr ? nullptr : y + at, ceiling_, mean,
                                           factors, factors + c, factors + 2 * c, dx + at,
                                           chunks_.size(chunk), c);
    });
  }

 private:
  void combine(const Run& run, const float* sums, std::int64_t j, float* factors) const {
    const std::int64_t c = chunks_.c;
    double d = 0.0, product = 0.0;
    for (std::int64_t chunk = 0; chunk < chunks_.count; ++chunk) {
      d += static_cast<double>(sums[2 * chunk * c + j]);
      product += static_cast<double>(sums[(2 * chunk + 1) * c + j]);
    }
    const auto rows = static_cast<double>(chunks_.rows);
    const double inverse =
        1.0 / std::sqrt(static_cast<double>(run.f32(variance_)[j]) + static_cast<double>(epsilon_));
    if (dgamma_ != graph::kNoValue) run.f32(dgamma_)[j] = static_cast<float>(product * inverse);
    if (dbeta_ != graph::kNoValue) run.f32(dbeta_)[j] = static_cast<float>(d);
    const double gamma = static_cast<double>(value_or(run.f32_or_null(gamma_), j, 1.0f));
    factors[j] = static_cast<float>(gamma * inverse);
    factors[c + j] = static_cast<float>(d / rows);
    factors[2 * c + j] = static_cast<float>(product * inverse * inverse / rows);
  }

  const Functions& functions_;
  float epsilon_, ceiling_;
  graph::ValueId dy_, x_, gamma_, mean_, variance_, y_, dx_, dgamma_, dbeta_;
  Chunks chunks_;
  std::size_t sums_, factors_;
};

// dx = dy·gamma/√(variance + epsilon)
class BatchNormInferenceGrad final : public Kernel {
 public:
  explicit BatchNormInferenceGrad(const CompileContext& context)
      : functions_(context.functions),
        epsilon_(context.attributes<graph::BatchNormAttributes>().epsilon),
        dy_(context.input(0)),
        gamma_(context.input(1)),
        variance_(context.input(2)),
        dx_(context.output(0)),
        chunks_(context.shape(dy_)),
        factors_(reserve_scratch(chunks_.channel_bytes())) {}
  void run(const Run& run) override {
    const std::int64_t c = chunks_.c;
    static constexpr float kZero = 0.0f;
    auto* factor = run.scratch_at<float>(factors_);
    const float* gamma = run.f32_or_null(gamma_);
    for (std::int64_t j = 0; j < c; ++j)
      factor[j] = value_or(gamma, j, 1.0f) / std::sqrt(run.f32(variance_)[j] + epsilon_);
    const float* dy = run.f32(dy_);
    float* dx = run.f32(dx_);
    chunks_.for_each([&](std::int64_t chunk) {
      const std::int64_t at = chunk * chunks_.length * c;
      functions_.affine(dy + at, &kZero, 0, factor, 1, &kZero, 0, dx + at, chunks_.size(chunk), c);
    });
  }

 private:
  const Functions& functions_;
  float epsilon_;
  graph::ValueId dy_, gamma_, variance_, dx_;
  Chunks chunks_;
  std::size_t factors_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm(const CompileContext& context) {
  return std::make_unique<BatchNorm>(context);
}
std::unique_ptr<Kernel> make_batch_norm_grad(const CompileContext& context) {
  return std::make_unique<BatchNormGrad>(context);
}
std::unique_ptr<Kernel> make_batch_norm_inference(const CompileContext& context) {
  return std::make_unique<BatchNormInference>(context);
}
std::unique_ptr<Kernel> make_batch_norm_inference_grad(const CompileContext& context) {
  return std::make_unique<BatchNormInferenceGrad>(context);
}

}  // namespace stoker::backend::cpu
