#include "lib/keras/layers/activation_layers.h"

#include <cmath>
#include <limits>

#include "lib/keras/layers/layer_base.h"

namespace stoker::keras {

using graph::ActivationAttributes;
using graph::ActivationKind;
using nlohmann::json;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// One class for all of them: class_name says which config they have.
class ActivationLayer final : public LayerBase {
 public:
  ActivationLayer(const ConfigReader& reader, std::string kind, ActivationFunction activation)
      : LayerBase(reader), activation_(activation) {
    class_name = std::move(kind);
  }
  ActivationLayer(const std::string& layer_name, std::string kind, ActivationFunction activation,
                  const std::string& place)
      : LayerBase(layer_name, place), activation_(activation) {
    class_name = std::move(kind);
  }

  // The axis of a Softmax counts the batch axis when it is not negative, so it is checked here.
  void set_axis(std::int64_t axis) { axis_ = axis; }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_input(inputs);
    if (axis_ != -1 && axis_ != static_cast<std::int64_t>(input.rank())) {
      misfit("unsupported value axis=" + std::to_string(axis_), "use the last axis, -1");
    }
    if (activation_.softmax && input.rank() == 0) {
      misfit("a softmax over a sample that is a single number", "give it at least one axis a sample");
    }
    return input;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    return apply_activation(builder, activation_, inputs[0], context.path);
  }

  json config() const override {
    json config = base_config();
    const ActivationAttributes& a = activation_.attributes;
    if (class_name == "Activation") config["activation"] = activation_config(activation_);
    if (class_name == "Softmax") config["axis"] = axis_;
    if (class_name == "LeakyReLU" || class_name == "ELU") config["alpha"] = shortest(a.alpha);
    if (class_name == "ReLU") {
      config["max_value"] = std::isinf(a.max_value) ? json() : json(shortest(a.max_value));
      config["negative_slope"] = shortest(a.alpha);
      config["threshold"] = shortest(a.threshold);
    }
    return config;
  }

  std::vector<std::unique_ptr<Layer>> split_activation() override {
    if (class_name != "Activation") return {};
    return split_off(activation_, name, where());
  }

 private:
  ActivationFunction activation_;
  std::int64_t axis_ = -1;
};

ActivationFunction read_relu(ConfigReader& reader) {
  ActivationAttributes a{.kind = ActivationKind::relu};
  a.max_value = reader.has("max_value") ? static_cast<float>(reader.number("max_value")) : kInfinity;
  a.alpha = static_cast<float>(reader.number("negative_slope", 0.0));
  a.threshold = static_cast<float>(reader.number("threshold", 0.0));
  reader.take("max_value");  // read, also where it is null
  if (a.max_value < 0) reader.refuse("max_value", a.max_value, "give a number of at least 0");
  return {false, a};
}

// Keras 2 calls the slope alpha, Keras 3 negative_slope.
ActivationFunction read_leaky_relu(ConfigReader& reader) {
  const char* key = reader.has("negative_slope") ? "negative_slope" : "alpha";
  return {false, {.kind = ActivationKind::relu, .alpha = static_cast<float>(reader.number(key, 0.3))}};
}

ActivationFunction read_elu(ConfigReader& reader) {
  return {false, {.kind = ActivationKind::elu, .alpha = static_cast<float>(reader.number("alpha", 1.0))}};
}

std::int64_t read_softmax_axis(ConfigReader& reader) {
  const json& axis = reader.take("axis");
  if (axis.is_array() && axis.size() == 1 && axis[0].is_number_integer()) return axis[0].get<std::int64_t>();
  return reader.integer("axis", -1);
}

}  // namespace

std::unique_ptr<Layer> make_activation(ConfigReader& reader) {
  return std::make_unique<ActivationLayer>(reader, "Activation", read_activation(reader, "activation"));
}

std::unique_ptr<Layer> make_relu(ConfigReader& reader) {
  return std::make_unique<ActivationLayer>(reader, "ReLU", read_relu(reader));
}

std::unique_ptr<Layer> make_leaky_relu(ConfigReader& reader) {
  return std::make_unique<ActivationLayer>(reader, "LeakyReLU", read_leaky_relu(reader));
}

std::unique_ptr<Layer> make_elu(ConfigReader& reader) {
  return std::make_unique<ActivationLayer>(reader, "ELU", read_elu(reader));
}

std::unique_ptr<Layer> make_softmax(ConfigReader& reader) {
  auto layer = std::make_unique<ActivationLayer>(reader, "Softmax", ActivationFunction{true, {}});
  layer->set_axis(read_softmax_axis(reader));
  return layer;
}

std::unique_ptr<Layer> make_activation_layer(const std::string& name, const ActivationFunction& activation,
                                             const std::string& where) {
  std::string kind = "Activation";
  if (!activation.softmax && activation.attributes.kind == ActivationKind::relu) kind = "ReLU";
  if (!activation.softmax && activation.attributes.kind == ActivationKind::elu) kind = "ELU";
  return std::make_unique<ActivationLayer>(name, kind, activation, where);
}

std::optional<ActivationFunction> read_activation_object(const json& object, const ConfigReader& outer) {
  ConfigReader reader(object, ParseContext{outer.where() + ": activation", outer.context().keras_major});
  ActivationFunction activation;
  if (reader.class_name() == "ReLU") {
    activation = read_relu(reader);
  } else if (reader.class_name() == "LeakyReLU") {
    activation = read_leaky_relu(reader);
  } else if (reader.class_name() == "ELU") {
    activation = read_elu(reader);
  } else if (reader.class_name() == "Softmax") {
    activation.softmax = true;
    const std::int64_t axis = read_softmax_axis(reader);
    if (axis != -1) reader.refuse("axis", axis, "use the last axis, -1");
  } else if (reader.class_name() == "Activation") {
    activation = read_activation(reader, "activation");
  } else {
    return {};
  }
  reader.finish();
  return activation;
}

}  // namespace stoker::keras
