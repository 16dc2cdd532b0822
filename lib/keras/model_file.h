// Opens any file that holds a Keras architecture, weights or both; the kind is found from the content.
//
//   .json         the architecture, as to_json() gives it
//   .h5           root attribute model_config, group model_weights (Keras' legacy format); with save_weights
//                 of Keras 2 only what model_weights holds, at the root
//   .keras        a zip of metadata.json, config.json and model.weights.h5
//   .weights.h5   the last of these on its own
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/hdf5/hdf5_file.h"
#include "lib/keras/model.h"

namespace stoker::keras {

// How the arrays lie in `weights`.
enum class WeightLayout {
  none,
  legacy,  // by layer_names and weight_names
  vars,    // layers/dense/vars/0
};

struct ModelFile {
  std::string path;
  std::optional<nlohmann::json> architecture;
  std::optional<nlohmann::json> training_config;  // what compile() got
  TrainedWith trained_with;                       // of an .h5 of save_model_h5()
  int keras_major = 3;                            // the Keras that wrote it
  WeightLayout layout = WeightLayout::none;
  std::optional<hdf5::File> weights;
  std::string weights_root;  // group in `weights`: "model_weights" or ""
};

// Root attributes of the .h5 files that save_model_h5() writes: TrainedWith. Keras does not look at them.
inline constexpr const char* kClassNamesAttribute = "stoker_class_names";
inline constexpr const char* kLossAttribute = "stoker_loss";
inline constexpr const char* kMetricsAttribute = "stoker_metrics";

// Throws UserError for a file that is missing, damaged or of another kind. Reads the member of a .keras file
// into memory.
ModelFile open_model_file(const std::string& path);

}  // namespace stoker::keras
