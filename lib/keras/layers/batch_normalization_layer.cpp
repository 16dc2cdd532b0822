#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"
#include "lib/keras/layers/weight_options.h"

namespace stoker::keras {

using graph::kNoValue;
using graph::ValueId;
using nlohmann::json;

namespace {

class BatchNormalizationLayer final : public LayerBase {
 public:
  explicit BatchNormalizationLayer(ConfigReader& reader)
      : LayerBase(reader),
        momentum_(reader.number("momentum", 0.99)),
        epsilon_(reader.number("epsilon", 1e-3)),
        center_(reader.boolean("center", true)),
        scale_(reader.boolean("scale", true)),
        gamma_(read_weight(reader, "gamma", "gamma", "Ones")),
        beta_(read_weight(reader, "beta", "beta", "Zeros")) {
    moving_mean_.initializer = read_initializer(reader, "moving_mean_initializer", "Zeros");
    moving_variance_.initializer = read_initializer(reader, "moving_variance_initializer", "Ones");
    moving_mean_.name = "moving_mean";
    moving_variance_.name = "moving_variance";
    moving_mean_.trainable = moving_variance_.trainable = false;
    if (momentum_ < 0 || momentum_ > 1) reader.refuse("momentum", momentum_, "give a number from 0 to 1");
    if (epsilon_ < 0) reader.refuse("epsilon", epsilon_, "give a number of at least 0");
    json axis = reader.take("axis");
    if (axis.is_array() && axis.size() == 1) axis = json(axis[0]);  // as Keras 2 writes it
    if (!axis.is_null() && !axis.is_number_integer()) reader.refuse("axis", axis, "use the last axis, -1");
    axis_ = axis.is_null() ? -1 : axis.get<std::int64_t>();
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_input(inputs);
    if (input.rank() == 0) misfit("an input without axes a sample", "give it at least one axis");
    if (axis_ != -1 && axis_ != static_cast<std::int64_t>(input.rank())) {
      misfit("unsupported value axis=" + std::to_string(axis_), "use the last axis, -1");
    }
    std::vector<WeightSpec> specs;
    if (scale_) specs.push_back(gamma_);
    if (center_) specs.push_back(beta_);
    specs.push_back(moving_mean_);
    specs.push_back(moving_variance_);
    for (WeightSpec& spec : specs) spec.shape = Shape{input.back()};
    set_weights(std::move(specs));
    return input;
  }

  ValueId expand(graph::GraphBuilder& builder, std::span<const ValueId> inputs,
                 const ExpandContext& context) const override {
    std::size_t k = 0;
    const ValueId gamma = scale_ ? parameter(builder, context, k++) : kNoValue;
    const ValueId beta = center_ ? parameter(builder, context, k++) : kNoValue;
    graph::BatchNormAttributes attributes;
    attributes.epsilon = static_cast<float>(epsilon_);
    if (!context.training || !trainable) {
      const ValueId mean = parameter(builder, context, k), variance = parameter(builder, context, k + 1);
      return builder.add(graph::OpKind::batch_norm_inference, attributes,
                         {inputs[0], gamma, beta, mean, variance}, context.path);
    }
    const std::vector<ValueId> outputs =
        builder.add_many(graph::OpKind::batch_norm, attributes, {inputs[0], gamma, beta}, 3, context.path);
    const float momentum = static_cast<float>(momentum_);
    builder.moving_statistic(outputs[1], context.weights[k], momentum, context.path + "/moving_mean");
    builder.moving_statistic(outputs[2], context.weights[k + 1], momentum, context.path + "/moving_variance");
    return outputs[0];
  }

  json config() const override {
    json config = base_config();
    config["axis"] = axis_;
    config["momentum"] = momentum_;
    config["epsilon"] = epsilon_;
    config["center"] = center_;
    config["scale"] = scale_;
    write_weight(config, "gamma", gamma_);
    write_weight(config, "beta", beta_);
    config["moving_mean_initializer"] = initializer_config(moving_mean_.initializer);
    config["moving_variance_initializer"] = initializer_config(moving_variance_.initializer);
    return config;
  }

 private:
  double momentum_, epsilon_;
  bool center_, scale_;
  WeightSpec gamma_, beta_, moving_mean_, moving_variance_;
  std::int64_t axis_ = -1;
};

}  // namespace

std::unique_ptr<Layer> make_batch_normalization(ConfigReader& reader) {
  return std::make_unique<BatchNormalizationLayer>(reader);
}

}  // namespace stoker::keras
