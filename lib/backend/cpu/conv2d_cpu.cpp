// Convolutions by oneDNN on NHWC activations. Weights stay in Keras' layout in the flat buffers; the op
// reorders them into the primitive's own format before it runs (or the gradient out of it after), in scratch.
// Activations are our own: oneDNN's ReLU turns NaN into 0, which would hide where a training goes wrong. The
// gradients of 1×1 convolutions without padding are matrix products (pointwise_conv2d_cpu.cpp).
#include <optional>

#include "lib/backend/cpu/conv2d_shapes.h"
#include "lib/backend/cpu/onednn_primitive.h"
#include "lib/backend/cpu/parallel.h"
#include "lib/backend/cpu/pointwise_conv2d.h"

namespace stoker::backend::cpu {
namespace {

using Desc = dnnl::memory::desc;

// A convolution primitive, its scratchpad, and its weights in the primitive's format.
class Conv2DBase : public Kernel {
 public:
  std::string implementation() const override { return implementation_; }

 protected:
  template <typename PrimitiveDesc, typename Primitive>
  void set_primitive(const CompileContext& context, const PrimitiveDesc& desc, const Primitive& primitive) {
    primitive_ = OnednnPrimitive(primitive, context.engine, context.stream);
    implementation_ = desc.impl_info_str();
    const Desc scratchpad = desc.scratchpad_desc();
    primitive_.bind_scratch(DNNL_ARG_SCRATCHPAD, scratchpad, reserve_scratch(scratchpad.get_size()));
  }

  // The reorder from or to the value's plain weights; none where the formats are the same.
  void bind_weights(const CompileContext& context, int argument, const Desc& plain, const Desc& packed,
                    graph::ValueId value, bool is_gradient) {
    if (plain == packed) {
      primitive_.bind_value(argument, plain, value);
      return;
    }
    const std::size_t offset = reserve_scratch(packed.get_size());
    primitive_.bind_scratch(argument, packed, offset);
    const Desc &from = is_gradient ? packed : plain, &to = is_gradient ? plain : packed;
    const dnnl::reorder::primitive_desc desc(context.engine, from, context.engine, to, user_scratchpad());
    implementation_ += std::string(", weights ") + desc.impl_info_str();
    reorder_.emplace(dnnl::reorder(desc), context.engine, context.stream);
    const Desc scratchpad = desc.scratchpad_desc();
    reorder_->bind_scratch(DNNL_ARG_SCRATCHPAD, scratchpad, reserve_scratch(scratchpad.get_size()));
    if (is_gradient) {
      reorder_->bind_scratch(DNNL_ARG_FROM, from, offset);
      reorder_->bind_value(DNNL_ARG_TO, to, value);
    } else {
      reorder_->bind_value(DNNL_ARG_FROM, from, value);
      reorder_->bind_scratch(DNNL_ARG_TO, to, offset);
    }
  }

  OnednnPrimitive primitive_;
  std::optional<OnednnPrimitive> reorder_;

 private:
  std::string implementation_;
};

dnnl::convolution_forward::primitive_desc forward_desc(const CompileContext& context,
                                                       const Conv2DShapes& shapes, bool with_bias) {
  return onednn::convolution_forward(context.engine, shapes.x, shapes.any_weights,
                                     with_bias ? &shapes.bias : nullptr, shapes.y, shapes.geometry,
                                     user_scratchpad());
}

class Conv2D final : public Conv2DBase {
 public:
  Conv2D(const CompileContext& context, const graph::ActivationAttributes& activation)
      : functions_(context.functions),
        activation_(activation),
        y_(context.output(0)),
        elements_(context.shape(y_).elements()) {
    const graph::ValueId x = context.input(0), w = context.input(1), bias = context.input(2);
    const Conv2DShapes shapes(context.shape(x), context.shape(w), context.shape(y_),
                              context.attributes<graph::Conv2DAttributes>());
    const auto desc = forward_desc(context, shapes, bias != graph::kNoValue);
    set_primitive(context, desc, dnnl::convolution_forward(desc));
    primitive_.bind_value(DNNL_ARG_SRC, shapes.x, x);
    bind_weights(context, DNNL_ARG_WEIGHTS, shapes.weights, desc.weights_desc(), w, false);
    if (bias != graph::kNoValue) primitive_.bind_value(DNNL_ARG_BIAS, shapes.bias, bias);
    primitive_.bind_value(DNNL_ARG_DST, shapes.y, y_);
  }

  void run(const Run& run) override {
    if (reorder_) reorder_->run(run);
    primitive_.run(run);
    if (activation_.kind == graph::ActivationKind::linear) return;
    float* y = run.f32(y_);
    parallel_elements(elements_, [&](std::int64_t begin, std::int64_t end) {
      functions_.activation(activation_, y + begin, y + begin, end - begin);
    });
  }

 private:
  const Functions& functions_;
  graph::ActivationAttributes activation_;
  graph::ValueId y_;
  std::int64_t elements_;
};

class Conv2DGradInput final : public Conv2DBase {
 public:
  explicit Conv2DGradInput(const CompileContext& context) {
    const graph::ValueId dy = context.input(0), w = context.input(1), dx = context.output(0);
    const Conv2DShapes shapes(context.shape(dx), context.shape(w), context.shape(dy),
                              context.attributes<graph::Conv2DAttributes>());
    const auto hint = forward_desc(context, shapes, false);
    const auto desc = onednn::convolution_backward_data(context.engine, shapes.x, shapes.any_weights,
                                                        shapes.y, shapes.geometry, hint, user_scratchpad());
    set_primitive(context, desc, dnnl::convolution_backward_data(desc));
    primitive_.bind_value(DNNL_ARG_DIFF_DST, shapes.y, dy);
    bind_weights(context, DNNL_ARG_WEIGHTS, shapes.weights, desc.weights_desc(), w, false);
    primitive_.bind_value(DNNL_ARG_DIFF_SRC, shapes.x, dx);
  }
  void run(const Run& run) override {
    if (reorder_) reorder_->run(run);
    primitive_.run(run);
  }
};

class Conv2DGradWeights final : public Conv2DBase {
 public:
  explicit Conv2DGradWeights(const CompileContext& context) {
    const graph::ValueId x = context.input(0), dy = context.input(1), dw = context.output(0),
                         db = context.output(1);
    const Conv2DShapes shapes(context.shape(x), context.shape(dw), context.shape(dy),
                              context.attributes<graph::Conv2DAttributes>());
    const bool with_bias = db != graph::kNoValue;
    const auto hint = forward_desc(context, shapes, with_bias);
    const auto desc = onednn::convolution_backward_weights(context.engine, shapes.x, shapes.any_weights,
                                                           with_bias ? &shapes.bias : nullptr, shapes.y,
                                                           shapes.geometry, hint, user_scratchpad());
    set_primitive(context, desc, dnnl::convolution_backward_weights(desc));
    primitive_.bind_value(DNNL_ARG_SRC, shapes.x, x);
    primitive_.bind_value(DNNL_ARG_DIFF_DST, shapes.y, dy);
    bind_weights(context, DNNL_ARG_DIFF_WEIGHTS, shapes.weights, desc.diff_weights_desc(), dw, true);
    if (with_bias) primitive_.bind_value(DNNL_ARG_DIFF_BIAS, shapes.bias, db);
  }
  void run(const Run& run) override {
    primitive_.run(run);
    if (reorder_) reorder_->run(run);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const CompileContext& context) {
  return std::make_unique<Conv2D>(context, context.attributes<graph::Conv2DAttributes>().activation);
}
std::unique_ptr<Kernel> make_conv2d_without_activation(const CompileContext& context) {
  return std::make_unique<Conv2D>(context, graph::ActivationAttributes{});
}

std::unique_ptr<Kernel> make_conv2d_grad_input(const CompileContext& context) {
  if (is_pointwise(context.attributes<graph::Conv2DAttributes>(), context.shape(context.input(1))))
    return make_pointwise_grad_input(context);
  return std::make_unique<Conv2DGradInput>(context);
}

std::unique_ptr<Kernel> make_conv2d_grad_weights(const CompileContext& context) {
  if (is_pointwise(context.attributes<graph::Conv2DAttributes>(), context.shape(context.output(0))))
    return make_pointwise_grad_weights(context);
  return std::make_unique<Conv2DGradWeights>(context);
}

}  // namespace stoker::backend::cpu
