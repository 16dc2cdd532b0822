// Conv2D, DepthwiseConv2D and SeparableConv2D: one or two conv2d ops.
#include "lib/keras/layers/activation_function.h"
#include "lib/keras/layers/image_window.h"
#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"
#include "lib/keras/layers/weight_options.h"

namespace stoker::keras {

using graph::kNoValue;
using graph::ValueId;
using nlohmann::json;

namespace {

// What the three have in common: the window, the bias and the activation.
class ConvolutionLayer : public LayerBase {
 public:
  explicit ConvolutionLayer(ConfigReader& reader)
      : LayerBase(reader),
        window_(read_window(reader, "kernel_size", Pair{1, 1}, true)),
        use_bias_(reader.boolean("use_bias", true)),
        activation_(read_activation(reader, "activation")),
        bias_(read_weight(reader, "bias", "bias", "Zeros")) {}

  std::vector<std::unique_ptr<Layer>> split_activation() override {
    return split_off(activation_, name, where());
  }

 protected:
  // The image (h, w, c) of `inputs`, large enough for the window.
  const Shape& image(std::span<const Shape> inputs) const {
    const Shape& input = only_image(inputs);
    const Pair cells = window_.output(input);
    if (cells.h < 1 || cells.w < 1) {
      misfit("a kernel larger than the input of shape " + to_string(input),
             "use padding=same or a smaller kernel");
    }
    return input;
  }

  Shape output_shape(const Shape& input, std::int64_t channels) const {
    const Pair cells = window_.output(input);
    return Shape{cells.h, cells.w, channels};
  }

  // The weights, kernels first, with the bias where there is one.
  void set_kernels(std::vector<WeightSpec> kernels, std::int64_t channels) {
    bias_.shape = Shape{channels};
    if (use_bias_) kernels.push_back(bias_);
    set_weights(std::move(kernels));
  }

  graph::Conv2DAttributes attributes(const Shape& batch, std::int64_t groups) const {
    graph::Conv2DAttributes attributes;
    attributes.stride_h = window_.stride.h;
    attributes.stride_w = window_.stride.w;
    attributes.dilation_h = window_.dilation.h;
    attributes.dilation_w = window_.dilation.w;
    attributes.groups = groups;
    attributes.padding = window_.padding(batch.without_batch());
    return attributes;
  }

  // The bias is the weight after the `kernels` kernels.
  ValueId bias(graph::GraphBuilder& builder, const ExpandContext& context, std::size_t kernels) const {
    return use_bias_ ? parameter(builder, context, kernels) : kNoValue;
  }

  json convolution_config() const {
    json config = base_config();
    config["kernel_size"] = pair_config(window_.size);
    config["strides"] = pair_config(window_.stride);
    config["dilation_rate"] = pair_config(window_.dilation);
    config["padding"] = window_.padding_name();
    config["data_format"] = "channels_last";
    config["use_bias"] = use_bias_;
    config["activation"] = activation_config(activation_);
    write_weight(config, "bias", bias_);
    return config;
  }

  ImageWindow window_;
  bool use_bias_;
  ActivationFunction activation_;
  WeightSpec bias_;
};

class Conv2DLayer final : public ConvolutionLayer {
 public:
  explicit Conv2DLayer(ConfigReader& reader)
      : ConvolutionLayer(reader),
        filters_(reader.positive("filters")),
        groups_(reader.positive("groups", 1)),
        kernel_(read_weight(reader, "kernel", "kernel", "GlorotUniform")) {
    if (filters_ % groups_ != 0) reader.refuse("groups", groups_, "use a divisor of filters");
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = image(inputs);
    if (input[2] % groups_ != 0) {
      misfit("groups=" + std::to_string(groups_) + " for " + std::to_string(input[2]) + " channels",
             "use a divisor of the channels");
    }
    kernel_.shape = Shape{window_.size.h, window_.size.w, input[2] / groups_, filters_};
    set_kernels({kernel_}, filters_);
    return output_shape(input, filters_);
  }

  ValueId expand(graph::GraphBuilder& builder, std::span<const ValueId> inputs,
                 const ExpandContext& context) const override {
    const ValueId kernel = parameter(builder, context, 0);
    const ValueId y = builder.add(graph::OpKind::conv2d, attributes(builder.shape(inputs[0]), groups_),
                                  {inputs[0], kernel, bias(builder, context, 1)}, context.path);
    return apply_activation(builder, activation_, y, context.path);
  }

  json config() const override {
    json config = convolution_config();
    config["filters"] = filters_;
    config["groups"] = groups_;
    write_weight(config, "kernel", kernel_);
    return config;
  }

 private:
  std::int64_t filters_, groups_;
  WeightSpec kernel_;
};

// The depthwise convolution of both layers below. Its kernel (h, w, c, m) is that of a convolution with c
// groups, (h, w, 1, c·m), in the same order: output channel c·depth_multiplier + m.
class DepthwiseLayer : public ConvolutionLayer {
 public:
  DepthwiseLayer(ConfigReader& reader, const std::string& weight_name)
      : ConvolutionLayer(reader),
        multiplier_(reader.positive("depth_multiplier", 1)),
        depthwise_(read_weight(reader, "depthwise", weight_name, "GlorotUniform")) {}

 protected:
  void set_depthwise_shape(const Shape& input) {
    depthwise_.shape = Shape{window_.size.h, window_.size.w, input[2], multiplier_};
  }

  ValueId depthwise(graph::GraphBuilder& builder, ValueId x, ValueId bias_value,
                    const ExpandContext& context) const {
    const Shape& input = builder.shape(x);
    const Shape grouped{window_.size.h, window_.size.w, 1, input[3] * multiplier_};
    const graph::Conv2DAttributes options = attributes(input, input[3]);
    const ValueId kernel = parameter(builder, context, 0, grouped);
    return builder.add(graph::OpKind::conv2d, options, {x, kernel, bias_value}, context.path);
  }

  json depthwise_config() const {
    json config = convolution_config();
    config["depth_multiplier"] = multiplier_;
    write_weight(config, "depthwise", depthwise_);
    return config;
  }

  std::int64_t multiplier_;
  WeightSpec depthwise_;
};

class DepthwiseConv2DLayer final : public DepthwiseLayer {
 public:
  explicit DepthwiseConv2DLayer(ConfigReader& reader) : DepthwiseLayer(reader, "kernel") {}

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = image(inputs);
    set_depthwise_shape(input);
    set_kernels({depthwise_}, input[2] * multiplier_);
    return output_shape(input, input[2] * multiplier_);
  }

  ValueId expand(graph::GraphBuilder& builder, std::span<const ValueId> inputs,
                 const ExpandContext& context) const override {
    const ValueId y = depthwise(builder, inputs[0], bias(builder, context, 1), context);
    return apply_activation(builder, activation_, y, context.path);
  }

  json config() const override { return depthwise_config(); }
};

class SeparableConv2DLayer final : public DepthwiseLayer {
 public:
  explicit SeparableConv2DLayer(ConfigReader& reader)
      : DepthwiseLayer(reader, "depthwise_kernel"),
        filters_(reader.positive("filters")),
        pointwise_(read_weight(reader, "pointwise", "pointwise_kernel", "GlorotUniform")) {
    // Keras 2 writes these keys of the base class, which has no weight of that name here.
    reader.take("kernel_initializer");
    reader.take("kernel_regularizer");
    reader.take("kernel_constraint");
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = image(inputs);
    set_depthwise_shape(input);
    pointwise_.shape = Shape{1, 1, input[2] * multiplier_, filters_};
    set_kernels({depthwise_, pointwise_}, filters_);
    return output_shape(input, filters_);
  }

  ValueId expand(graph::GraphBuilder& builder, std::span<const ValueId> inputs,
                 const ExpandContext& context) const override {
    const ValueId x = depthwise(builder, inputs[0], kNoValue, context);
    const ValueId pointwise = parameter(builder, context, 1);
    const ValueId y = builder.add(graph::OpKind::conv2d, graph::Conv2DAttributes{},
                                  {x, pointwise, bias(builder, context, 2)}, context.path);
    return apply_activation(builder, activation_, y, context.path);
  }

  json config() const override {
    json config = depthwise_config();
    config["filters"] = filters_;
    write_weight(config, "pointwise", pointwise_);
    return config;
  }

 private:
  std::int64_t filters_;
  WeightSpec pointwise_;
};

}  // namespace

std::unique_ptr<Layer> make_conv2d(ConfigReader& reader) { return std::make_unique<Conv2DLayer>(reader); }

std::unique_ptr<Layer> make_depthwise_conv2d(ConfigReader& reader) {
  return std::make_unique<DepthwiseConv2DLayer>(reader);
}

std::unique_ptr<Layer> make_separable_conv2d(ConfigReader& reader) {
  return std::make_unique<SeparableConv2DLayer>(reader);
}

}  // namespace stoker::keras
