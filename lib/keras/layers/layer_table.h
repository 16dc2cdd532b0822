// The table of layer classes: what a new layer is added to.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

struct LayerEntry {
  std::string_view class_name;  // as a config says it
  std::string_view written_as;  // the class it is written as, which Keras 2 and 3 both know
  // Reads the config; make_layer sets class_name and refuses the keys that were not read.
  std::unique_ptr<Layer> (*make)(ConfigReader& reader);
};

std::span<const LayerEntry> layer_entries();

// Throws the UserError of make_layer() for a layer whose class is not known, without a look at its options.
void check_layer_class(const nlohmann::json& layer, const ParseContext& context);

// The names of all layers, without aliases: for messages and help.
std::vector<std::string_view> layer_class_names();

}  // namespace stoker::keras
