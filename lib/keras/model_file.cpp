#include "lib/keras/model_file.h"

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/keras/json_access.h"
#include "lib/keras/model_tree.h"
#include "lib/keras/zip_archive.h"

namespace stoker::keras {
namespace {

using Names = std::vector<std::string>;

int major_of_version(const std::string& version, int otherwise) {
  if (version.empty() || version[0] < '0' || version[0] > '9') return otherwise;
  return version[0] >= '3' ? 3 : 2;
}

// What compile() got, beside the architecture: {} when the model was never compiled.
std::optional<nlohmann::json> compile_config_of(const nlohmann::json& architecture) {
  if (!architecture.is_object() || !architecture.contains("compile_config")) return std::nullopt;
  const nlohmann::json& config = architecture["compile_config"];
  if (!config.is_object() || config.empty()) return std::nullopt;
  return config;
}

constexpr std::uint64_t kLargestJson = std::uint64_t{256} << 20;

ModelFile open_json(const std::string& path) {
  ModelFile file;
  file.path = path;
  file.architecture = parse_json(read_file(path, kLargestJson), path);
  file.training_config = compile_config_of(*file.architecture);
  file.keras_major = keras_major_of(*file.architecture);
  return file;
}

ModelFile open_keras(const std::string& path) {
  const ZipArchive archive(path);
  ModelFile file;
  file.path = path;
  const auto need = [&](const char* member) {
    std::optional<std::string> content = archive.read(member);
    if (!content)
      throw UserError(
          std::string("the archive has no ") + member, path,
          "a .keras file has metadata.json, config.json and model.weights.h5; save the model again");
    return std::move(*content);
  };
  file.architecture = parse_json(need("config.json"), path + ": config.json");
  file.training_config = compile_config_of(*file.architecture);
  const nlohmann::json metadata = parse_json(need("metadata.json"), path + ": metadata.json");
  file.keras_major =
      major_of_version(text_or(metadata, "keras_version", ""), keras_major_of(*file.architecture));
  const std::string member = "model.weights.h5";
  file.weights = hdf5::File::from_memory(path + ": " + member, need(member.c_str()));
  file.layout = WeightLayout::vars;
  return file;
}

ModelFile open_hdf5(const std::string& path) {
  ModelFile file;
  file.path = path;
  file.weights = hdf5::File::open(path);
  const hdf5::File& h5 = *file.weights;
  if (const auto config = h5.text_attribute("", "model_config")) {
    file.architecture = parse_json(*config, path + ": model_config");
    file.keras_major = keras_major_of(*file.architecture);
    if (const auto training = h5.text_attribute("", "training_config"))
      file.training_config = parse_json(*training, path + ": training_config");
    file.trained_with = {h5.text_list_attribute("", kClassNamesAttribute).value_or(Names()),
                         h5.text_attribute("", kLossAttribute).value_or(""),
                         h5.text_list_attribute("", kMetricsAttribute).value_or(Names())};
    file.layout = WeightLayout::legacy;
    file.weights_root = "model_weights";
    if (!h5.is_group(file.weights_root))
      throw UserError("the file has an architecture but no group model_weights", path,
                      "save the whole model again with Keras");
  } else if (h5.text_list_attribute("", "layer_names")) {
    file.layout = WeightLayout::legacy;
    file.keras_major = 2;
  } else if (h5.is_group("layers") || h5.is_group("_layer_checkpoint_dependencies")) {
    file.layout = WeightLayout::vars;
  } else {
    throw UserError("an HDF5 file, but not one of Keras: no model_config, no layer_names, no layers", path,
                    "give a .json, .h5 or .keras file that Keras saved");
  }
  const auto version = h5.text_attribute(file.weights_root, "keras_version");
  file.keras_major = major_of_version(
      version ? *version : h5.text_attribute("", "keras_version").value_or(""), file.keras_major);
  return file;
}

}  // namespace

ModelFile open_model_file(const std::string& path) {
  if (!path_exists(path)) throw UserError("no such file", path, "check the path of the model");
  if (is_directory(path))
    throw UserError("a folder, not a model file", path, "give a .json, .h5 or .keras file");
  if (hdf5::looks_like_hdf5(path)) return open_hdf5(path);
  if (looks_like_zip(path)) return open_keras(path);
  if (path.ends_with(".keras"))
    throw UserError("not a zip archive, which a .keras file is", path,
                    "it may be damaged or another kind of file; save the model again");
  if (path.ends_with(".h5") || path.ends_with(".hdf5"))
    throw UserError("not an HDF5 file", path,
                    "it may be damaged or another kind of file; save the model again");
  return open_json(path);
}

}  // namespace stoker::keras
