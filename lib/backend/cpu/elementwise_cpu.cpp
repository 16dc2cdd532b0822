// activation, activation_grad, scale, affine, dropout, fill and the copies that reshape needs.
#include <cstring>
#include <stdexcept>

#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"
#include "lib/graph/random.h"

namespace stoker::backend::cpu {
namespace {

// body(run, begin, end) over the elements of the first output, in parts on the compute threads.
template <typename Body>
class ElementWise final : public Kernel {
 public:
  ElementWise(const CompileContext& context, const Body& body)
      : body_(body), n_(context.shape(context.output(0)).elements()) {}
  void run(const Run& run) override {
    parallel_elements(n_, [&](std::int64_t begin, std::int64_t end) { body_(run, begin, end); });
  }

 private:
  Body body_;
  std::int64_t n_;
};

template <typename Body>
std::unique_ptr<Kernel> element_wise(const CompileContext& context, const Body& body) {
  return std::make_unique<ElementWise<Body>>(context, body);
}

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
  const auto apply = context.functions.activation;
  const auto attributes = context.attributes<graph::ActivationAttributes>();
  const graph::ValueId x = context.input(0), y = context.output(0);
  return element_wise(context, [=](const Run& run, std::int64_t begin, std::int64_t end) {
    apply(attributes, run.f32(x) + begin, run.f32(y) + begin, end - begin);
  });
}

std::unique_ptr<Kernel> make_activation_grad(const CompileContext& context) {
  const auto apply = context.functions.activation_gradient;
  const auto attributes = context.attributes<graph::ActivationAttributes>();
  const graph::ValueId dy = context.input(0), z = context.input(1), dx = context.output(0);
  if (attributes.from_output && !graph::gradient_from_output(attributes))
    throw std::logic_error("the gradient of an activation of " + context.op.name +
                           " does not follow from its output");
  return element_wise(context, [=](const Run& run, std::int64_t begin, std::int64_t end) {
    apply(attributes, run.f32(dy) + begin, run.f32(z) + begin, run.f32(dx) + begin, end - begin);
  });
}

std::unique_ptr<Kernel> make_scale(const CompileContext& context) {
  const auto apply = context.functions.scale;
  const float factor = context.attributes<graph::ScaleAttributes>().factor;
  const graph::ValueId x = context.input(0), y = context.output(0);
  return element_wise(context, [=](const Run& run, std::int64_t begin, std::int64_t end) {
    apply(factor, run.f32(x) + begin, run.f32(y) + begin, end - begin);
  });
}

std::unique_ptr<Kernel> make_dropout(const CompileContext& context) {
  const auto apply = context.functions.dropout;
  const auto attributes = context.attributes<graph::DropoutAttributes>();
  const graph::ValueId x = context.input(0), y = context.output(0);
  return element_wise(context, [=](const Run& run, std::int64_t begin, std::int64_t end) {
    const StepArguments& a = *run.arguments;
    const std::uint64_t key = graph::dropout_key(a.seed, a.step, a.leaf, attributes.layer, attributes.call);
    apply(key, attributes.rate, run.f32(x), run.f32(y), begin, end);
  });
}

std::unique_ptr<Kernel> make_affine(const CompileContext& context) {
  return std::make_unique<Affine>(context);
}
std::unique_ptr<Kernel> make_fill(const CompileContext& context) { return std::make_unique<Fill>(context); }
std::unique_ptr<Kernel> make_reshape(const CompileContext& context) {
  return std::make_unique<Reshape>(context);
}

}  // namespace stoker::backend::cpu
