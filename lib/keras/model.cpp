#include "lib/keras/model.h"

#include <algorithm>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/weights_hash.h"
#include "lib/keras/flatten.h"
#include "lib/keras/json_access.h"
#include "lib/keras/model_file.h"
#include "lib/keras/model_tree.h"
#include "lib/keras/weight_arrays.h"

namespace stoker::keras {
namespace {

// The architecture with empty weights.
Model read_architecture(const nlohmann::json& json, const ParseContext& context,
                        const std::optional<Shape>& data_shape) {
  try {
    return flatten(parse_model_tree(json, context), context, data_shape);
  } catch (const nlohmann::json::exception& error) {  // a value of a type that no reader expected
    malformed(std::string("the architecture is malformed (") + error.what() + ")", context.file);
  }
}

void draw_weights(Model& model, std::uint64_t seed) {
  for (std::size_t k = 0; k < model.weights.size(); ++k)
    model.weights[k].value =
        initialize(model.weights[k].spec.initializer, model.weights[k].spec.shape, seed, k);
}

// False if the file holds none.
bool read_weights(Model& model, const ModelTree& tree, const ModelFile& file) {
  switch (file.layout) {
    case WeightLayout::legacy:
      return read_legacy_weights(model, tree, *file.weights, file.weights_root, file.keras_major);
    case WeightLayout::vars:
      return read_vars_weights(model, tree, *file.weights);
    case WeightLayout::none:
      break;
  }
  return false;
}

Model load_from(const ModelFile& file, std::uint64_t seed, const std::optional<Shape>& data_shape) {
  if (!file.architecture)
    throw UserError("the file has weights only, no architecture", file.path,
                    "give the architecture (.json) as the model and this file as --weights");
  Model model = read_architecture(*file.architecture, {file.path, file.keras_major}, data_shape);
  model.training_config = file.training_config;
  model.trained_with = file.trained_with;
  if (!read_weights(model, *model.tree, file)) {
    const bool unbuilt = !model.tree->input_known;
    if (file.layout != WeightLayout::none && !unbuilt && !model.weights.empty())
      throw UserError("the file has no weights", file.path, "save the model again with Keras");
    draw_weights(model, seed);
    model.weights_are_drawn = true;
  }
  return model;
}

// From a file with its own architecture, which may be another form of the same model (flattened): weight by
// weight, in order.
void copy_weights(Model& model, Model& source) {
  std::vector<std::string> from, to;
  for (const Weight& weight : source.weights) from.push_back(weight.name);
  for (const Weight& weight : model.weights) to.push_back(weight.name);
  if (from.size() != to.size())
    throw UserError("the file has " + std::to_string(from.size()) + " weights, the model has " +
                        std::to_string(to.size()),
                    source.origin, "use weights saved from the same architecture");
  check_name_order(from, to, source.origin);
  for (std::size_t k = 0; k < to.size(); ++k) {
    if (source.weights[k].spec.shape != model.weights[k].spec.shape)
      throw UserError("weight " + from[k] + " has shape " + to_string(source.weights[k].spec.shape) +
                          ", the model's " + to[k] + " has " + to_string(model.weights[k].spec.shape),
                      source.origin, "use weights saved from the same architecture");
    model.weights[k].value = std::move(source.weights[k].value);
  }
}

std::vector<std::size_t> normalizations(const Model& model) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < model.layers.size(); ++k)
    if (model.layers[k]->class_name == "Normalization") found.push_back(k);
  return found;
}

std::vector<float> numbers_of(const nlohmann::json& value) {
  if (value.is_number()) return {value.get<float>()};
  std::vector<float> numbers;
  for (const nlohmann::json& item : value)
    for (const float number : numbers_of(item)) numbers.push_back(number);
  return numbers;
}

// Normalization's mean and variance are weights in Keras, numbers of the config here.
void copy_statistics(Model& model, const Model& source) {
  const std::vector<std::size_t> from = normalizations(source), to = normalizations(model);
  for (std::size_t k = 0; k < std::min(from.size(), to.size()); ++k) {
    const nlohmann::json config = source.layers[from[k]]->config();
    const std::vector<std::vector<float>> arrays = {
        numbers_of(config.at("mean")), numbers_of(config.at("variance")), {0.0f}};
    model.layers[to[k]]->adopt_file_weights(arrays);
  }
}

}  // namespace

std::int64_t Model::parameter_count(bool trainable_only) const {
  std::int64_t count = 0;
  for (const Weight& weight : weights)
    if (weight.trainable || !trainable_only) count += weight.spec.shape.elements();
  return count;
}

Model load_model(const std::string& path, std::uint64_t seed, const std::optional<Shape>& data_shape) {
  return load_from(open_model_file(path), seed, data_shape);
}

Model model_from_json(const nlohmann::json& json, const std::string& origin, std::uint64_t seed,
                      const std::optional<Shape>& data_shape) {
  Model model = read_architecture(json, {origin, keras_major_of(json)}, data_shape);
  draw_weights(model, seed);
  return model;
}

void load_weights(Model& model, const std::string& path) {
  const ModelFile file = open_model_file(path);
  if (file.layout == WeightLayout::none)
    throw UserError("the file has an architecture but no weights", path,
                    "give an .h5, .keras or .weights.h5 file");
  if (file.architecture) {
    Model source = load_from(file, 0, model.input_shape());
    copy_weights(model, source);
    copy_statistics(model, source);
    if (model.trained_with.class_names.empty()) model.trained_with = source.trained_with;
  } else if (!read_weights(model, *model.tree, file)) {
    throw UserError("the file has no weights", path, "save the weights again with Keras");
  }
  model.weights_are_drawn = false;
}

std::string weights_hash(const Model& model) {
  WeightsHash hash;
  for (const Weight& weight : model.weights)
    hash.add(weight.name, weight.spec.shape.dims(), weight.value.data(), weight.value.size() * sizeof(float));
  return hash.hex();
}

nlohmann::json inspect_json(const Model& model) {
  const auto with_batch = [](const Shape& shape) {
    nlohmann::json dims = nlohmann::json::array({nullptr});
    for (const std::int64_t dim : shape.dims()) dims.push_back(dim);
    return dims;
  };
  const auto end = [&](const Call& call) {
    return nlohmann::json::array(
        {{{"name", model.layers[call.layer]->name}, {"shape", with_batch(call.shape)}}});
  };
  nlohmann::json layers = nlohmann::json::array();
  for (std::size_t k = 0; k < model.layers.size(); ++k) {
    std::int64_t parameters = 0;
    for (const std::int64_t weight : model.layer_weights[k])
      parameters += model.weights[static_cast<std::size_t>(weight)].spec.shape.elements();
    const auto call = std::find_if(model.calls.begin(), model.calls.end(),
                                   [&](const Call& candidate) { return candidate.layer == k; });
    layers.push_back({{"name", model.layers[k]->name},
                      {"class", model.layers[k]->class_name},
                      {"output_shape", with_batch(call->shape)},
                      {"parameters", parameters},
                      {"trainable", model.layers[k]->trainable}});
  }
  return {{"name", model.name},
          {"parameters", model.parameter_count(false)},
          {"trainable_parameters", model.parameter_count(true)},
          {"inputs", end(model.calls[0])},
          {"outputs", end(model.calls[model.output_call])},
          {"layers", layers}};
}

}  // namespace stoker::keras
