// Activations as configs name them: a string ("relu"), a function object, or a layer object ({"class_name":
// "LeakyReLU", …}).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/keras/layer.h"
#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

struct ActivationFunction {
  bool softmax = false;  // over the last axis; else element-wise:
  graph::ActivationAttributes attributes;
  bool operator==(const ActivationFunction&) const = default;
};

// Throws UserError, naming the key, for an activation that is not known.
ActivationFunction read_activation(ConfigReader& reader, std::string_view key);

// By Keras' name; nothing if it is unknown. "hard_sigmoid" is not the same function in Keras 2 and 3.
std::optional<ActivationFunction> activation_by_name(std::string_view name, int keras_major);

// The name under which both Keras 2 and 3 know it; nothing if there is none.
std::optional<std::string> common_name(const ActivationFunction& activation);

// What a config says: common_name, else the layer object as Keras 3 writes it (Keras 2 does not read that;
// split_activation avoids it).
nlohmann::json activation_config(const ActivationFunction& activation);

// Appends the op; returns x itself for linear.
graph::ValueId apply_activation(graph::GraphBuilder& builder, const ActivationFunction& activation,
                                graph::ValueId x, const std::string& path);

// See Layer::split_activation: if the activation has no common name, makes it linear and returns layers that
// compute it: a ReLU or an ELU, or, for hard_sigmoid, which is clip(a·x + 1/2, 0, 1), a Rescaling and a ReLU.
std::vector<std::unique_ptr<Layer>> split_off(ActivationFunction& activation, const std::string& layer_name,
                                              const std::string& where);

}  // namespace stoker::keras
