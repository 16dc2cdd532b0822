// Which arrays a Keras file holds for the layers of a model, in which order, and where they go.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/hdf5/hdf5_file.h"
#include "lib/keras/model.h"
#include "lib/keras/model_tree.h"

namespace stoker::keras {

struct WeightArray {
  std::size_t layer = 0;       // index into Model::layers
  std::size_t position = 0;    // among the layer's arrays
  std::string name;            // "d1/kernel", with the layer's name in the file
  std::optional<Shape> shape;  // nothing: the layer checks it (Normalization)
  bool trainable = true;       // as Keras sees it: the array's kind and its layer's own flag
};

// The arrays of a layer that is no model, in the order of their creation (as under `vars`).
std::vector<WeightArray> arrays_of(const Model& model, const TreeLayer& layer);

// All arrays of a layer or nested model in the order of a legacy .h5 group: what trains, layer by layer, then
// the rest. `keras_major` matters for a layer that trains within a model that does not.
std::vector<WeightArray> legacy_arrays_of(const Model& model, const TreeLayer& layer, int keras_major);

// The values of a dataset, any numeric type, bfloat16 as Keras stores it (2-byte opaque) included. Throws
// UserError if it is missing, of another shape, or of another type.
std::vector<float> read_array(const hdf5::File& file, const std::string& path,
                              const std::optional<Shape>& shape);

// Throws UserError if `in_file` holds the same names as `in_model`, all different, in another order: the
// arrays would load into the wrong layers without a word where their shapes are equal.
void check_name_order(const std::vector<std::string>& in_file, const std::vector<std::string>& in_model,
                      const std::string& where);

// Puts arrays where they belong. finish() hands over what layers keep in their config (Normalization).
class WeightFiller {
 public:
  explicit WeightFiller(Model& model) : model_(model) {}
  void put(const WeightArray& array, std::vector<float> values);
  void finish();

 private:
  Model& model_;
  std::map<std::size_t, std::vector<std::vector<float>>> adopted_;  // by layer
};

// Both return false, and change nothing, when the file holds no array at all (a model saved unbuilt).
bool read_legacy_weights(Model& model, const ModelTree& tree, const hdf5::File& file, const std::string& root,
                         int keras_major);
bool read_vars_weights(Model& model, const ModelTree& tree, const hdf5::File& file);

}  // namespace stoker::keras
