#include "lib/keras/layers/activation_function.h"

#include "lib/keras/layers/activation_layers.h"
#include "lib/keras/layers/preprocessing_layers.h"

namespace stoker::keras {

using graph::ActivationAttributes;
using graph::ActivationKind;
using nlohmann::json;

namespace {

struct NamedActivation {
  std::string_view name;
  ActivationFunction activation;
};

// A name that comes first is the one that is written: both Keras 2 and 3 read it.
const NamedActivation kActivations[] = {
    {"linear", {}},
    {"relu", {false, {.kind = ActivationKind::relu}}},
    {"relu6", {false, {.kind = ActivationKind::relu, .max_value = 6.0f}}},
    {"leaky_relu", {false, {.kind = ActivationKind::relu, .alpha = 0.2f}}},
    {"elu", {false, {.kind = ActivationKind::elu, .alpha = 1.0f}}},
    {"selu", {false, {.kind = ActivationKind::selu}}},
    {"gelu", {false, {.kind = ActivationKind::gelu}}},
    {"swish", {false, {.kind = ActivationKind::silu}}},
    {"silu", {false, {.kind = ActivationKind::silu}}},
    {"sigmoid", {false, {.kind = ActivationKind::sigmoid}}},
    {"tanh", {false, {.kind = ActivationKind::tanh}}},
    {"softplus", {false, {.kind = ActivationKind::softplus}}},
    {"softsign", {false, {.kind = ActivationKind::softsign}}},
    {"exponential", {false, {.kind = ActivationKind::exponential}}},
    {"mish", {false, {.kind = ActivationKind::mish}}},
    {"softmax", {true, {}}},
};

bool is_kind(const ActivationFunction& activation, ActivationKind kind) {
  return !activation.softmax && activation.attributes.kind == kind;
}

// {"class_name": "function", "config": "relu", "module": "keras.activations"}: a function of Keras. Under
// "builtins" Keras 3 puts any function that it does not know, whatever its name.
std::optional<std::string> function_name(const json& object) {
  if (!object.contains("config") || !object["config"].is_string()) return {};
  if (object.contains("module") && object["module"].is_string() &&
      !object["module"].get<std::string>().starts_with("keras")) {
    return {};
  }
  return object["config"].get<std::string>();
}

}  // namespace

std::optional<ActivationFunction> activation_by_name(std::string_view name, int keras_major) {
  if (name == "hard_sigmoid") {
    const auto kind = keras_major < 3 ? ActivationKind::hard_sigmoid_v2 : ActivationKind::hard_sigmoid;
    return ActivationFunction{false, {.kind = kind}};
  }
  for (const NamedActivation& entry : kActivations) {
    if (entry.name == name) return entry.activation;
  }
  return {};
}

std::optional<std::string> common_name(const ActivationFunction& activation) {
  for (const NamedActivation& entry : kActivations) {
    if (entry.activation == activation) return std::string(entry.name);
  }
  return {};
}

ActivationFunction read_activation(ConfigReader& reader, std::string_view key) {
  const json& value = reader.take(key);
  if (value.is_null()) return {};
  std::optional<std::string> name;
  if (value.is_string()) name = value.get<std::string>();
  if (value.is_object() && value.contains("class_name") && value["class_name"].is_string()) {
    if (value["class_name"] == "function") {
      name = function_name(value);
    } else if (auto activation = read_activation_object(value, reader)) {
      return *activation;
    }
  }
  if (name) {
    if (const auto activation = activation_by_name(*name, reader.context().keras_major)) return *activation;
  }
  reader.refuse(key, value,
                "use one of Keras' relu, relu6, leaky_relu, elu, selu, gelu, silu, sigmoid, hard_sigmoid, "
                "tanh, softplus, softsign, softmax, exponential, mish, linear");
}

json activation_config(const ActivationFunction& activation) {
  if (const auto name = common_name(activation)) return *name;
  if (is_kind(activation, ActivationKind::hard_sigmoid)) return "hard_sigmoid";
  ActivationFunction copy = activation;
  const auto layers = split_off(copy, "activation", "activation");
  return {{"module", "keras.layers"},
          {"class_name", layers.front()->class_name},
          {"config", layers.front()->config()},
          {"registered_name", nullptr}};
}

graph::ValueId apply_activation(graph::GraphBuilder& builder, const ActivationFunction& activation,
                                graph::ValueId x, const std::string& path) {
  if (activation.softmax) return builder.add(graph::OpKind::softmax, graph::NoAttributes{}, {x}, path);
  if (activation.attributes.kind == ActivationKind::linear) return x;
  return builder.add(graph::OpKind::activation, activation.attributes, {x}, path);
}

std::vector<std::unique_ptr<Layer>> split_off(ActivationFunction& activation, const std::string& layer_name,
                                              const std::string& where) {
  std::vector<std::unique_ptr<Layer>> layers;
  if (common_name(activation)) return layers;
  const std::string name = layer_name + "_activation";
  if (is_kind(activation, ActivationKind::hard_sigmoid) ||
      is_kind(activation, ActivationKind::hard_sigmoid_v2)) {
    const double slope = is_kind(activation, ActivationKind::hard_sigmoid) ? 1.0 / 6.0 : 0.2;
    layers.push_back(make_rescaling(layer_name + "_rescaling", slope, 0.5, where));
    const ActivationAttributes clip{.kind = ActivationKind::relu, .max_value = 1.0f};
    layers.push_back(make_activation_layer(name, {false, clip}, where));
  } else {
    layers.push_back(make_activation_layer(name, activation, where));
  }
  activation = ActivationFunction{};
  return layers;
}

}  // namespace stoker::keras
