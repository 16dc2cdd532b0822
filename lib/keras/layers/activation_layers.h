// The activation layers: Activation, ReLU, LeakyReLU, ELU, Softmax.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "lib/keras/layers/activation_function.h"
#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

std::unique_ptr<Layer> make_activation(ConfigReader& reader);  // key "activation"
std::unique_ptr<Layer> make_relu(ConfigReader& reader);
std::unique_ptr<Layer> make_leaky_relu(ConfigReader& reader);
std::unique_ptr<Layer> make_elu(ConfigReader& reader);
std::unique_ptr<Layer> make_softmax(ConfigReader& reader);

// A ReLU, ELU or (for all others, which must have a common name) Activation layer computing `activation`.
std::unique_ptr<Layer> make_activation_layer(const std::string& name, const ActivationFunction& activation,
                                             const std::string& where);

// An activation given as a layer object; nothing if its class is not one of these. `outer` is the layer whose
// option it is. Throws UserError for an option that is not honoured.
std::optional<ActivationFunction> read_activation_object(const nlohmann::json& object,
                                                         const ConfigReader& outer);

}  // namespace stoker::keras
