#include "trainer/checkpoint_model.h"

#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/log.h"
#include "lib/checkpoint/reader.h"

namespace stoker::trainer {

bool is_checkpoint(const std::string& directory) {
  const std::string name =
      std::filesystem::path(directory + "/.").lexically_normal().parent_path().filename();
  return is_directory(directory) && checkpoint::parse_step_directory(name).has_value();
}

bool is_run(const std::string& directory) {
  return is_directory(directory + "/checkpoints") || path_exists(directory + "/run.json");
}

std::string newest_checkpoint(const std::string& directory) {
  if (is_checkpoint(directory)) return directory;
  if (!is_directory(directory))
    throw UserError("no such folder", directory, "give a run's directory or a checkpoint");
  const std::string folder =
      is_directory(directory + "/checkpoints") ? directory + "/checkpoints" : directory;
  const checkpoint::Choice choice = checkpoint::find_newest_good(folder);
  for (const std::string& skipped : choice.skipped) say_warning("skipped a damaged checkpoint: " + skipped);
  if (!choice.good)
    throw UserError("there are no checkpoints", directory, "give a run's directory or a checkpoint");
  return choice.good->path;
}

keras::Model load_checkpoint_model(const std::string& path) {
  const checkpoint::Manifest manifest = checkpoint::read_manifest(path);
  if (!manifest.state.contains("model"))
    throw UserError("no model in the checkpoint", path, "take one that `stoker train` wrote");
  keras::Model model = keras::model_from_json(manifest.state["model"], path, 0);
  model.class_names = manifest.state.value("class_names", std::vector<std::string>());
  std::vector<checkpoint::TensorTarget> targets;
  for (keras::Weight& weight : model.weights)
    targets.push_back({{"parameters/" + weight.name, weight.spec.shape, DType::f32}, weight.value.data()});
  checkpoint::load(path, targets, checkpoint::Names::these);
  return model;
}

}  // namespace stoker::trainer
