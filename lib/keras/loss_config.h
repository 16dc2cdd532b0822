// Losses by Keras' names: read from an option or a file's training_config, written in one spelling.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/graph/op.h"

namespace stoker::keras {

// `NAME[:k=v,…]` as --loss takes it: Keras' names, aliases ("mse") and class names. Throws UserError for
// unknown names and keys and for values that are not honoured.
graph::LossAttributes loss_from_option(const std::string& text);

// "loss" of a training_config: a name, {"class_name", "config"}, or one of them in a list or by output.
// `file` is for messages. Nothing for null. Throws UserError for a loss or option that is not honoured.
std::optional<graph::LossAttributes> loss_from_keras(const nlohmann::json& loss, const std::string& file);

// "sparse_categorical_crossentropy:from_logits=true": equal texts, equal losses; loss_from_option() reads it.
std::string loss_text(const graph::LossAttributes& loss);

// "mean_squared_error" from "mse", "MSE", "MeanSquaredError": Keras' names of functions, for losses and
// metrics.
std::string function_name(const std::string& name);

}  // namespace stoker::keras
