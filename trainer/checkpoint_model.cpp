#include "trainer/checkpoint_model.h"

#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/log.h"
#include "lib/checkpoint/reader.h"

namespace stoker::trainer {
namespace {
std::string checkpoints_folder(const std::string& directory) {
  return is_directory(directory + "/checkpoints") ? directory + "/checkpoints" : directory;
}
}  // namespace

bool is_checkpoint(const std::string& directory) {
  const std::string name =
      std::filesystem::path(directory + "/.").lexically_normal().parent_path().filename();
  return is_directory(directory) && checkpoint::parse_step_directory(name).has_value();
}

bool has_checkpoints(const std::string& directory) {
  return is_checkpoint(directory) || !checkpoint::list(checkpoints_folder(directory)).empty();
}

bool is_run(const std::string& directory) {
  return is_directory(directory + "/checkpoints") || path_exists(directory + "/run.json") ||
         path_exists(directory + "/model.h5") || has_checkpoints(directory);
}

std::string newest_checkpoint(const std::string& directory) {
  if (is_checkpoint(directory)) return directory;
  if (!is_directory(directory))
    throw UserError("no such folder", directory, "give a run's directory or a checkpoint");
  const checkpoint::Choice choice = checkpoint::find_newest_good(checkpoints_folder(directory));
  for (const std::string& skipped : choice.skipped) say_warning("skipped a damaged checkpoint: " + skipped);
  if (!choice.good)
    throw UserError("there are no checkpoints", directory, "give a run's directory or a checkpoint");
  return choice.good->path;
}

keras::Model load_run_model(const std::string& directory) {
  const std::string model = directory + "/model.h5";
  if (!has_checkpoints(directory) && path_exists(model)) return keras::load_model(model, 0);
  return load_checkpoint_model(newest_checkpoint(directory));
}

keras::Model load_checkpoint_model(const std::string& path) {
  const checkpoint::Manifest manifest = checkpoint::read_manifest(path);
  if (!manifest.state.contains("model"))
    throw UserError("no model in the checkpoint", path, "take one that `stoker train` wrote");
  keras::Model model = keras::model_from_json(manifest.state["model"], path, 0);
  using Names = std::vector<std::string>;
  model.trained_with = {manifest.state.value("class_names", Names()),
                        manifest.state.value("identity", nlohmann::json::object()).value("loss", ""),
                        manifest.state.value("metrics", Names())};
  std::vector<checkpoint::TensorTarget> targets;
  for (keras::Weight& weight : model.weights)
    targets.push_back({{"parameters/" + weight.name, weight.spec.shape, DType::f32}, weight.value.data()});
  checkpoint::load(path, targets, checkpoint::Names::these);
  return model;
}

}  // namespace stoker::trainer
