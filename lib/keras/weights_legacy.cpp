// Weights by layer_names and weight_names: Keras' legacy .h5 (keras/src/legacy/saving/legacy_h5_format.py).
#include <algorithm>

#include "lib/base/error.h"
#include "lib/keras/weight_arrays.h"

namespace stoker::keras {
namespace {

std::string below(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

std::vector<std::string> weight_names_of(const hdf5::File& file, const std::string& group) {
  auto names = file.text_list_attribute(group, "weight_names");
  if (!names)
    throw UserError(
        file.is_group(group) ? "the group has no weight_names" : "no such group, but layer_names lists it",
        file.name() + ": /" + group, "the file is damaged; save the model again with Keras");
  return std::move(*names);
}

// "sequential/dense/kernel:0" → "dense/kernel": what all versions have in common.
std::string last_two_parts(std::string name) {
  if (name.ends_with(":0")) name.resize(name.size() - 2);
  const std::size_t last = name.rfind('/');
  if (last == std::string::npos || last == 0) return name;
  const std::size_t before = name.rfind('/', last - 1);
  return before == std::string::npos ? name : name.substr(before + 1);
}

struct LayerArrays {
  std::string name;
  std::vector<WeightArray> arrays;
};

void read_group(const hdf5::File& file, const std::string& group, const std::vector<std::string>& names,
                const LayerArrays& layer, WeightFiller& filler) {
  const std::string where = file.name() + ": /" + group;
  if (names.size() != layer.arrays.size())
    throw UserError("the group has " + std::to_string(names.size()) + " arrays, layer " + layer.name +
                        " has " + std::to_string(layer.arrays.size()),
                    where, "use weights saved from the same architecture");
  std::vector<std::string> in_file, in_model;
  for (const std::string& name : names) in_file.push_back(last_two_parts(name));
  for (const WeightArray& array : layer.arrays) in_model.push_back(array.name);
  check_name_order(in_file, in_model, where);
  for (std::size_t k = 0; k < names.size(); ++k)
    filler.put(layer.arrays[k], read_array(file, below(group, names[k]), layer.arrays[k].shape));
}

}  // namespace

bool read_legacy_weights(Model& model, const ModelTree& tree, const hdf5::File& file, const std::string& root,
                         int keras_major) {
  const std::string where = root.empty() ? file.name() : file.name() + ": /" + root;
  const auto layer_names = file.text_list_attribute(root, "layer_names");
  if (!layer_names)
    throw UserError("no layer_names", where, "the file is damaged; save the model again with Keras");
  std::vector<LayerArrays> layers;
  for (const TreeLayer& layer : tree.layers) {
    std::vector<WeightArray> arrays = legacy_arrays_of(model, layer, keras_major);
    if (!arrays.empty()) layers.push_back({layer.name, std::move(arrays)});
  }
  std::vector<std::string> in_file, in_model;
  std::vector<std::vector<std::string>> weight_names;
  for (const std::string& name : *layer_names) {
    std::vector<std::string> names = weight_names_of(file, below(root, name));
    if (names.empty()) continue;
    in_file.push_back(name);
    weight_names.push_back(std::move(names));
  }
  if (in_file.empty()) return layers.empty();
  if (in_file.size() != layers.size())
    throw UserError("the file has weights of " + std::to_string(in_file.size()) + " layers, the model has " +
                        std::to_string(layers.size()) + " layers with weights",
                    where, "use weights saved from the same architecture");
  for (const LayerArrays& layer : layers) in_model.push_back(layer.name);
  check_name_order(in_file, in_model, where);

  WeightFiller filler(model);
  for (std::size_t k = 0; k < layers.size(); ++k)
    read_group(file, below(root, in_file[k]), weight_names[k], layers[k], filler);
  const std::string top_level = below(root, "top_level_model_weights");
  if (const auto names = file.text_list_attribute(top_level, "weight_names"); names && !names->empty())
    throw UserError("the model itself has weights, besides its layers'", file.name() + ": /" + top_level,
                    "subclassed models are not supported");
  filler.finish();
  return true;
}

}  // namespace stoker::keras
