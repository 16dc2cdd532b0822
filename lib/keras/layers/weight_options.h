// The options that a layer has for each weight: initializer, regularizer, constraint.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lib/keras/layer.h"
#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

// Reads PREFIX_initializer, PREFIX_regularizer and PREFIX_constraint into a weight called `weight_name`,
// whose shape is not set. Throws UserError for those that are not honoured.
WeightSpec read_weight(ConfigReader& reader, const std::string& prefix, const std::string& weight_name,
                       const std::string& default_initializer);

// Writes the three keys, in the form that Keras 2 and 3 both open.
void write_weight(nlohmann::json& config, const std::string& prefix, const WeightSpec& weight);

// The parts, as objects ({class_name, config}), or names in any of Keras' spellings ("glorot_uniform", "l2").
Initializer read_initializer(ConfigReader& reader, const std::string& key, const std::string& fallback);
Regularizer read_regularizer(ConfigReader& reader, const std::string& key);
Constraint read_constraint(ConfigReader& reader, const std::string& key);

nlohmann::json initializer_config(const Initializer& initializer);
nlohmann::json regularizer_config(const Regularizer& regularizer);
nlohmann::json constraint_config(const Constraint& constraint);

}  // namespace stoker::keras
