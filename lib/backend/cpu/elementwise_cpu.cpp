// activation, activation_grad, scale, affine, dropout, fill and the copies that reshape needs.
#include <cstring>
#include <stdexcept>

#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"
#include "lib/graph/random.h"

namespace stoker::backend::cpu {
namespace {

class Activation final : public Kernel {
 public:
  explicit Activation(const CompileContext& context)
      : functions_(context.functions),
        attributes_(context.attributes<graph::ActivationAttributes>()),
        x_(context.input(0)),
        y_(context.output(0)),
        n_(context.shape(y_).elements()) {}
  void run(const Run& run) override {
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    parallel_elements(n_, [&](std::int64_t begin, std::int64_t end) {
      functions_.activation(attributes_, x + begin, y + begin, end - begin);
    });
  }

 private:
  const Functions& functions_;
  graph::ActivationAttributes attributes_;
  graph::ValueId x_, y_;
  std::int64_t n_;
};

class ActivationGrad final : public Kernel {
 public:
  explicit ActivationGrad(const CompileContext& context)
      : functions_(context.functions),
        attributes_(context.attributes<graph::ActivationAttributes>()),
        dy_(context.input(0)),
        z_(context.input(1)),
        dx_(context.output(0)),
        n_(context.shape(dx_).elements()) {
    if (attributes_.from_output && !graph::gradient_from_output(attributes_))
      throw std::logic_error("the gradient of an activation of " + context.op.name +
                             " does not follow from its output");
  }
  void run(const Run& run) override {
    const float* dy = run.f32(dy_);
    const float* z = run.f32(z_);
    float* dx = run.f32(dx_);
    parallel_elements(n_, [&](std::int64_t begin, std::int64_t end) {
      functions_.activation_gradient(attributes_, dy + begin, z + begin, dx + begin, end - begin);
    });
  }

 private:
  const Functions& functions_;
  graph::ActivationAttributes attributes_;
  graph::ValueId dy_, z_, dx_;
  std::int64_t n_;
};

class Scale final : public Kernel {
 public:
  explicit Scale(const CompileContext& context)
      : functions_(context.functions),
        factor_(context.attributes<graph::ScaleAttributes>().factor),
        x_(context.input(0)),
        y_(context.output(0)),
        n_(context.shape(y_).elements()) {}
  void run(const Run& run) override {
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    parallel_elements(n_, [&](std::int64_t begin, std::int64_t end) {
      functions_.scale(factor_, x + begin, y + begin, end - begin);
    });
  }

 private:
  const Functions& functions_;
  float factor_;
  graph::ValueId x_, y_;
  std::int64_t n_;
};

class Affine final : public Kernel {
 public:
  explicit Affine(const CompileContext& context)
      : functions_(context.functions),
        x_(context.input(0)),
        y_(context.output(0)),
        c_(context.shape(y_).rank() == 0 ? 1 : context.shape(y_).back()),
        rows_(c_ == 0 ? 0 : context.shape(y_).elements() / c_) {
    for (std::size_t i = 0; i < 3; ++i) {
      parameters_[i] = context.input(i + 1);
      steps_[i] = parameters_[i] == graph::kNoValue || context.shape(parameters_[i]).elements() == 1 ? 0 : 1;
    }
  }
  void run(const Run& run) override {
    static constexpr float kNeutral[3] = {0.0f, 1.0f, 0.0f};  // shift, scale, offset
    const float* p[3];
    for (std::size_t i = 0; i < 3; ++i)
      p[i] = parameters_[i] == graph::kNoValue ? &kNeutral[i] : run.f32(parameters_[i]);
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    parallel_ranges(rows_, 1, c_, [&](std::int64_t begin, std::int64_t end) {
      functions_.affine(x + begin * c_, p[0], steps_[0], p[1], steps_[1], p[2], steps_[2], y + begin * c_,
                        end - begin, c_);
    });
  }

 private:
  const Functions& functions_;
  graph::ValueId x_, y_;
  graph::ValueId parameters_[3];
  std::int64_t steps_[3];
  std::int64_t c_, rows_;
};

class Dropout final : public Kernel {
 public:
  explicit Dropout(const CompileContext& context)
      : functions_(context.functions),
        attributes_(context.attributes<graph::DropoutAttributes>()),
        x_(context.input(0)),
        y_(context.output(0)),
        n_(context.shape(y_).elements()) {}
  void run(const Run& run) override {
    const StepArguments& a = *run.arguments;
    const std::uint64_t key = graph::dropout_key(a.seed, a.step, a.leaf, attributes_.layer, attributes_.call);
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    parallel_elements(n_, [&](std::int64_t begin, std::int64_t end) {
      functions_.dropout(key, attributes_.rate, x, y, begin, end);
    });
  }

 private:
  const Functions& functions_;
  graph::DropoutAttributes attributes_;
  graph::ValueId x_, y_;
  std::int64_t n_;
};

class Fill final : public Kernel {
 public:
  explicit Fill(const CompileContext& context)
      : value_(context.attributes<graph::ScaleAttributes>().factor),
        y_(context.output(0)),
        n_(context.shape(y_).elements()) {}
  void run(const Run& run) override {
    float* y = run.f32(y_);
    for (std::int64_t i = 0; i < n_; ++i) y[i] = value_;
  }

 private:
  float value_;
  graph::ValueId y_;
  std::int64_t n_;
};

// Only where the output is not a view of its source: an input of the program made its output, for instance.
class Reshape final : public Kernel {
 public:
  explicit Reshape(const CompileContext& context)
      : x_(context.input(0)),
        y_(context.output(0)),
        bytes_(static_cast<std::size_t>(context.shape(y_).elements()) * size_of(context.value(y_).dtype)) {}
  void run(const Run& run) override {
    if (run.values[x_] != run.values[y_]) std::memcpy(run.values[y_], run.values[x_], bytes_);
  }

 private:
  graph::ValueId x_, y_;
  std::size_t bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_activation(const CompileContext& context) {
  return std::make_unique<Activation>(context);
}
std::unique_ptr<Kernel> make_activation_grad(const CompileContext& context) {
  return std::make_unique<ActivationGrad>(context);
}
std::unique_ptr<Kernel> make_scale(const CompileContext& context) { return std::make_unique<Scale>(context); }
std::unique_ptr<Kernel> make_affine(const CompileContext& context) {
  return std::make_unique<Affine>(context);
}
std::unique_ptr<Kernel> make_dropout(const CompileContext& context) {
  return std::make_unique<Dropout>(context);
}
std::unique_ptr<Kernel> make_fill(const CompileContext& context) { return std::make_unique<Fill>(context); }
std::unique_ptr<Kernel> make_reshape(const CompileContext& context) {
  return std::make_unique<Reshape>(context);
}

}  // namespace stoker::backend::cpu
