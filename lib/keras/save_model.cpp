// The .h5 that both Keras 2 and Keras 3 open: legacy format, the configs' common dialect, no nested models.
#include <unistd.h>

#include <cstdio>

#include "lib/base/files.h"
#include "lib/hdf5/hdf5_file.h"
#include "lib/keras/model.h"
#include "lib/keras/model_file.h"

namespace stoker::keras {
namespace {

// Keras 2 transposes some kernels of files without a version; Keras 3 does not look at it.
constexpr const char* kKerasVersion = "2.15.0";
constexpr const char* kBackend = "tensorflow";

nlohmann::json sequential_config(const Model& model) {
  nlohmann::json layers = nlohmann::json::array();
  for (const Call& call : model.calls)
    layers.push_back({{"class_name", model.layers[call.layer]->class_name},
                      {"config", model.layers[call.layer]->config()}});
  return {{"class_name", "Sequential"}, {"config", {{"name", model.name}, {"layers", layers}}}};
}

nlohmann::json functional_config(const Model& model) {
  std::vector<nlohmann::json> nodes(model.layers.size(), nlohmann::json::array());
  std::vector<int> call_number;  // among the layer's calls, by call
  for (const Call& call : model.calls) {
    nlohmann::json& its_nodes = nodes[call.layer];
    call_number.push_back(static_cast<int>(its_nodes.size()));
    nlohmann::json node = nlohmann::json::array();
    nlohmann::json keywords = nlohmann::json::object();
    if (call.inference) keywords["training"] = false;
    for (const std::size_t input : call.inputs)
      node.push_back({model.layers[model.calls[input].layer]->name, call_number[input], 0, keywords});
    if (!call.inputs.empty()) its_nodes.push_back(node);
  }
  nlohmann::json layers = nlohmann::json::array();
  for (std::size_t k = 0; k < model.layers.size(); ++k)
    layers.push_back({{"class_name", model.layers[k]->class_name},
                      {"config", model.layers[k]->config()},
                      {"name", model.layers[k]->name},
                      {"inbound_nodes", nodes[k]}});
  const auto ends = [&](std::size_t call) {
    return nlohmann::json::array({{model.layers[model.calls[call].layer]->name, call_number[call], 0}});
  };
  return {{"class_name", "Functional"},
          {"config",
           {{"name", model.name},
            {"layers", layers},
            {"input_layers", ends(0)},
            {"output_layers", ends(model.output_call)}}}};
}

void write_versions(hdf5::File& file, const std::string& group) {
  file.write_text_attribute(group, "keras_version", kKerasVersion);
  file.write_text_attribute(group, "backend", kBackend);
}

void write_trained_with(hdf5::File& file, const TrainedWith& with) {
  if (!with.class_names.empty()) file.write_text_list_attribute("", kClassNamesAttribute, with.class_names);
  if (!with.loss.empty()) file.write_text_attribute("", kLossAttribute, with.loss);
  if (!with.metrics.empty()) file.write_text_list_attribute("", kMetricsAttribute, with.metrics);
}

void write_weights(hdf5::File& file, const Model& model) {
  const std::string root = "model_weights";
  file.make_group(root);
  write_versions(file, root);
  std::vector<std::string> layer_names;
  for (std::size_t k = 0; k < model.layers.size(); ++k) {
    if (model.sequential && k == model.calls[0].layer) continue;  // a Sequential does not count its input
    layer_names.push_back(model.layers[k]->name);
    const std::string group = root + "/" + layer_names.back();
    file.make_group(group);
    std::vector<std::string> weight_names;
    for (const std::int64_t index : model.layer_weights[k]) {
      const Weight& weight = model.weights[static_cast<std::size_t>(index)];
      weight_names.push_back(weight.name + ":0");
      file.write(group + "/" + weight_names.back(), weight.spec.shape, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT,
                 weight.value.data());
    }
    file.write_text_list_attribute(group, "weight_names", weight_names);
  }
  file.write_text_list_attribute(root, "layer_names", layer_names);
  file.make_group(root + "/top_level_model_weights");
  file.write_text_list_attribute(root + "/top_level_model_weights", "weight_names", {});
}

}  // namespace

nlohmann::json Model::to_json() const {
  nlohmann::json json = sequential ? sequential_config(*this) : functional_config(*this);
  json["keras_version"] = kKerasVersion;
  json["backend"] = kBackend;
  return json;
}

void save_model_h5(const Model& model, const std::string& path) {
  const std::string temporary = path + ".tmp-" + std::to_string(getpid());
  try {
    hdf5::File file = hdf5::File::create(temporary);
    write_versions(file, "");
    file.write_text_attribute("", "model_config", model.to_json().dump());
    write_trained_with(file, model.trained_with);
    write_weights(file, model);
    file.close();
    sync_path(temporary);
    rename_durably(temporary, path);
  } catch (...) {
    std::remove(temporary.c_str());
    throw;
  }
}

}  // namespace stoker::keras
