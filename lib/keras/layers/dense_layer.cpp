#include "lib/keras/layers/activation_function.h"
#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"
#include "lib/keras/layers/weight_options.h"

namespace stoker::keras {

namespace {

class DenseLayer final : public LayerBase {
 public:
  explicit DenseLayer(ConfigReader& reader)
      : LayerBase(reader),
        units_(reader.positive("units")),
        use_bias_(reader.boolean("use_bias", true)),
        activation_(read_activation(reader, "activation")),
        kernel_(read_weight(reader, "kernel", "kernel", "GlorotUniform")),
        bias_(read_weight(reader, "bias", "bias", "Zeros")) {}

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_input(inputs);
    if (input.rank() == 0) {
      misfit("an input without axes a sample", "give it at least one axis, e.g. by a Reshape to (1,)");
    }
    kernel_.shape = Shape{input.back(), units_};
    bias_.shape = Shape{units_};
    std::vector<WeightSpec> specs{kernel_};
    if (use_bias_) specs.push_back(bias_);
    set_weights(std::move(specs));
    return output_shape(input);
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    const Shape input = builder.shape(inputs[0]);  // (n, …, in)
    const bool flat = input.rank() == 2;
    graph::ValueId x = inputs[0];
    if (!flat) {
      const Shape rows{input.elements() / input.back(), input.back()};
      x = builder.add_shaped(graph::OpKind::reshape, graph::NoAttributes{}, {x}, rows, context.path);
    }
    const graph::ValueId kernel = parameter(builder, context, 0);
    const graph::ValueId bias = use_bias_ ? parameter(builder, context, 1) : graph::kNoValue;
    graph::ValueId y =
        builder.add(graph::OpKind::matmul, graph::MatMulAttributes{}, {x, kernel, bias}, context.path);
    if (!flat) {
      y = builder.add_shaped(graph::OpKind::reshape, graph::NoAttributes{}, {y}, output_shape(input),
                             context.path);
    }
    return apply_activation(builder, activation_, y, context.path);
  }

  nlohmann::json config() const override {
    nlohmann::json config = base_config();
    config["units"] = units_;
    config["use_bias"] = use_bias_;
    config["activation"] = activation_config(activation_);
    write_weight(config, "kernel", kernel_);
    write_weight(config, "bias", bias_);
    return config;
  }

  std::vector<std::unique_ptr<Layer>> split_activation() override {
    return split_off(activation_, name, where());
  }

 private:
  Shape output_shape(Shape input) const {
    input[input.rank() - 1] = units_;
    return input;
  }

  std::int64_t units_;
  bool use_bias_;
  ActivationFunction activation_;
  WeightSpec kernel_, bias_;
};

}  // namespace

std::unique_ptr<Layer> make_dense(ConfigReader& reader) { return std::make_unique<DenseLayer>(reader); }

}  // namespace stoker::keras
