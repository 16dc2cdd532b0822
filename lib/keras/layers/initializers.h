// The table of Keras' initializers: names, options and their defaults. initialize() itself is declared in
// lib/keras/layer.h.
//
// Variance scaling (Glorot & Bengio 2010, He et al. 2015, LeCun 1998): the variance of a weight is scale / n,
// n = fan in, fan out or their mean. Fans as Keras counts them: (in, out) of a matrix; for a kernel of a
// convolution the receptive field times its last two axes. A truncated normal is cut at two standard
// deviations, and widened by 1/0.87962566103423978 where scaling fixes the variance.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "lib/keras/layer.h"
#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

// "glorot_uniform", "GlorotUniform", "glorotuniform" → "GlorotUniform"; nothing if it is unknown.
std::optional<std::string> initializer_name(std::string_view spelling);

// All options of an initializer (canonical name) but the seed, at Keras' defaults.
nlohmann::json default_initializer_config(const std::string& name);

bool is_random(const std::string& name);

// Throws UserError for values that have no meaning (a negative stddev, an unknown mode).
void check_initializer(const Initializer& initializer, const ConfigReader& reader, const std::string& key);

}  // namespace stoker::keras
