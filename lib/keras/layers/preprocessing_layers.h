// Layers that bring the data to a good range: y = (x − shift)·scale + offset with constants by channel.
#pragma once

#include <memory>
#include <string>

#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

// y = scale·x + offset; each a number or one number a channel (last axis).
std::unique_ptr<Layer> make_rescaling_layer(ConfigReader& reader);
std::unique_ptr<Layer> make_rescaling(const std::string& name, double scale, double offset,
                                      const std::string& where);

// y = (x − mean) / max(√variance, 1e-7). mean and variance come from the config, or as the weights of an
// adapted layer, which adopt_file_weights puts into the config; a layer that was never adapted has 0 and 1,
// as in Keras.
std::unique_ptr<Layer> make_normalization(ConfigReader& reader);

}  // namespace stoker::keras
