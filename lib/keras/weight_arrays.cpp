#include "lib/keras/weight_arrays.h"

#include <algorithm>
#include <bit>
#include <set>

#include "lib/base/error.h"
#include "lib/keras/json_access.h"

namespace stoker::keras {
namespace {

// A Normalization without mean and variance in its config has them as weights: mean, variance, count.
bool keeps_statistics_as_weights(const TreeLayer& layer) {
  return layer.class_name == "Normalization" && layer.json.contains("config") &&
         is_null_or_absent(layer.json["config"], "mean");
}

void append(std::vector<WeightArray>& to, std::vector<WeightArray> from) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// In the order of creation, nested models' layers one after the other.
std::vector<WeightArray> created_arrays_of(const Model& model, const TreeLayer& layer) {
  if (!layer.model) return arrays_of(model, layer);
  std::vector<WeightArray> all;
  for (const TreeLayer& inner : layer.model->layers) append(all, created_arrays_of(model, inner));
  return all;
}

struct Split {
  std::vector<WeightArray> trainable, rest;
};

// Keras' trainable_weights and non_trainable_weights.
Split split_arrays_of(const Model& model, const TreeLayer& layer, int keras_major) {
  Split split;
  if (!layer.model) {
    for (WeightArray& array : arrays_of(model, layer))
      (array.trainable ? split.trainable : split.rest).push_back(std::move(array));
    return split;
  }
  if (!layer.model->trainable && keras_major >= 3) return {{}, created_arrays_of(model, layer)};
  for (const TreeLayer& inner : layer.model->layers) {
    Split its = split_arrays_of(model, inner, keras_major);
    append(split.trainable, std::move(its.trainable));
    append(split.rest, std::move(its.rest));
  }
  if (!layer.model->trainable) {
    append(split.trainable, std::move(split.rest));
    split.rest = std::exchange(split.trainable, {});
  }
  return split;
}

std::vector<float> read_bfloat16(const hdf5::Dataset& dataset) {
  std::vector<std::uint16_t> halves(static_cast<std::size_t>(dataset.info().shape.elements()));
  const hdf5::TypeHandle type(H5Dget_type(dataset.id()));
  if (!halves.empty()) dataset.read(type.get(), halves.data());
  std::vector<float> values(halves.size());
  std::transform(halves.begin(), halves.end(), values.begin(), [](std::uint16_t half) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
  });
  return values;
}

bool is_bfloat16(const hdf5::Dataset& dataset) {
  const hdf5::TypeHandle type(H5Dget_type(dataset.id()));
  return H5Tget_class(type.get()) == H5T_OPAQUE && dataset.info().element_bytes == 2;
}

}  // namespace

std::vector<WeightArray> arrays_of(const Model& model, const TreeLayer& layer) {
  std::vector<WeightArray> arrays;
  if (layer.is_input) return arrays;
  if (keeps_statistics_as_weights(layer)) {
    for (const char* name : {"mean", "variance", "count"})
      arrays.push_back({layer.flat, arrays.size(), layer.name + "/" + name, std::nullopt, false});
    return arrays;
  }
  for (const WeightSpec& spec : model.layers[layer.flat]->weights())
    arrays.push_back({layer.flat, arrays.size(), layer.name + "/" + spec.name, spec.shape,
                      spec.trainable && layer.trainable});
  return arrays;
}

std::vector<WeightArray> legacy_arrays_of(const Model& model, const TreeLayer& layer, int keras_major) {
  Split split = split_arrays_of(model, layer, keras_major);
  append(split.trainable, std::move(split.rest));
  return std::move(split.trainable);
}

std::vector<float> read_array(const hdf5::File& file, const std::string& path,
                              const std::optional<Shape>& shape) {
  const hdf5::Dataset dataset = file.dataset(path);
  if (shape && dataset.info().shape != *shape)
    throw UserError(
        "the array has shape " + to_string(dataset.info().shape) + ", the model's " + to_string(*shape),
        dataset.where(), "use weights saved from the same architecture");
  if (is_bfloat16(dataset)) return read_bfloat16(dataset);
  switch (dataset.info().kind) {
    case hdf5::Kind::floating:
    case hdf5::Kind::integer:
    case hdf5::Kind::unsigned_integer:
      return dataset.read_floats();
    default:
      throw UserError("the array holds no numbers", dataset.where(), "save the model again with Keras");
  }
}

void check_name_order(const std::vector<std::string>& in_file, const std::vector<std::string>& in_model,
                      const std::string& where) {
  const std::set<std::string> file_names(in_file.begin(), in_file.end());
  if (file_names.size() != in_file.size() || in_file == in_model ||
      file_names != std::set<std::string>(in_model.begin(), in_model.end()) ||
      in_file.size() != in_model.size())
    return;
  const auto differ = std::mismatch(in_file.begin(), in_file.end(), in_model.begin());
  throw UserError("the file has weights of " + *differ.first + " where the model counts " + *differ.second,
                  where, "weights load by order: save the model again with Keras");
}

void WeightFiller::put(const WeightArray& array, std::vector<float> values) {
  const std::vector<std::int64_t>& weights = model_.layer_weights[array.layer];
  if (array.position < weights.size()) {
    model_.weights[static_cast<std::size_t>(weights[array.position])].value = std::move(values);
  } else {
    std::vector<std::vector<float>>& arrays = adopted_[array.layer];
    arrays.resize(std::max(arrays.size(), array.position + 1));
    arrays[array.position] = std::move(values);
  }
}

void WeightFiller::finish() {
  for (const auto& [layer, arrays] : adopted_) model_.layers[layer]->adopt_file_weights(arrays);
}

}  // namespace stoker::keras
