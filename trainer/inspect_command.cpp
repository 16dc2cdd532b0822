// `stoker inspect`: what is in a model, a weights file, a checkpoint, a run's directory or data; and what
// training it would take in memory.
#include <cstdio>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "lib/checkpoint/reader.h"
#include "lib/data/source.h"
#include "lib/hdf5/hdf5_file.h"
#include "lib/keras/model.h"
#include "trainer/checkpoint_model.h"
#include "trainer/command.h"
#include "trainer/memory_plan.h"

namespace stoker::trainer {
namespace {

using nlohmann::ordered_json;

constexpr OptionSpec kSpecs[] = {
    {"json", nullptr, nullptr, "print JSON"},
    {"hash", nullptr, nullptr, "print one line: the digest of the weights"},
    {"batch-size", "B", nullptr,
     "also the memory that a rank takes to train the model with this global batch"},
    {"virtual-ranks", "V", nullptr, "leaves of a step, for the memory; else the ranks"},
    {"ranks", "N", "1", "ranks, for the memory"},
    {"optimizer", "NAME[:k=v,...]", nullptr, "for the memory; else the file's, else adam"},
    {"loss", "NAME[:k=v,...]", nullptr, "for the memory; else the file's, else chosen"},
    {"metrics", "NAME,...", nullptr, "for the memory; else the file's"},
    {"threads", "T", nullptr, "compute threads a rank, for the memory"},
    {"help", nullptr, nullptr, "this text"},
};

std::span<const OptionSpec> specs() { return kSpecs; }

void print_model(const ordered_json& model) {
  std::printf("%-32s %-24s %-20s %12s\n", "layer", "class", "output", "parameters");
  for (const auto& layer : model["layers"])
    std::printf("%-32s %-24s %-20s %12lld\n", layer["name"].get<std::string>().c_str(),
                layer["class"].get<std::string>().c_str(), layer["output_shape"].dump().c_str(),
                layer["parameters"].get<long long>());
  std::printf("%lld parameters, %lld to train\n", model["parameters"].get<long long>(),
              model["trainable_parameters"].get<long long>());
}

int inspect_model(const std::string& path, const Options& options) {
  const keras::Model model = is_directory(path) ? load_run_model(path) : keras::load_model(path, 0);
  if (options.flag("hash")) {
    std::printf("%s\n", keras::weights_hash(model).c_str());
    return kExitDone;
  }
  ordered_json out = ordered_json::parse(keras::inspect_json(model).dump());
  std::optional<MemoryReport> memory;
  if (options.has("batch-size")) memory = plan_training_memory(model, options);
  if (memory) out["memory"] = to_json(*memory);
  if (is_directory(path) && has_checkpoints(path)) out["checkpoint"] = newest_checkpoint(path);
  if (options.flag("json")) {
    std::printf("%s\n", out.dump(1).c_str());
    return kExitDone;
  }
  print_model(out);
  if (out.contains("checkpoint")) std::printf("from %s\n", out["checkpoint"].get<std::string>().c_str());
  if (memory) std::printf("%s\n", to_text(*memory).c_str());
  return kExitDone;
}

int inspect_data(const std::string& spec, const Options& options) {
  if (options.flag("hash")) throw UserError("data have no weights", spec, "leave --hash out");
  const auto source = data::open_source(spec);
  const data::Description& d = source->description();
  ordered_json out = {
      {"samples", d.samples}, {"shape", d.x_shape.dims()},    {"target_shape", d.y_shape.dims()},
      {"classes", d.classes}, {"class_names", d.class_names}, {"digest", d.digest},
      {"text", d.text}};
  std::printf("%s\n", options.flag("json") ? out.dump(1).c_str() : d.text.c_str());
  return kExitDone;
}

// What the content of a file says it is.
enum class FileKind { model, weights, data };

FileKind kind_of_file(const std::string& path) {
  if (path.ends_with(".json") || path.ends_with(".keras")) return FileKind::model;
  if (!path_exists(path) || !hdf5::looks_like_hdf5(path)) return FileKind::data;
  const hdf5::File file = hdf5::File::open(path);
  if (file.has_attribute("", "model_config")) return FileKind::model;
  const bool legacy = file.has_attribute("", "layer_names") || file.has_attribute("", "layer_names0");
  return legacy || file.is_group("layers") || file.is_group("model_weights") ? FileKind::weights
                                                                             : FileKind::data;
}

int inspect_weights(const std::string& path, const Options& options) {
  if (options.flag("hash"))
    throw UserError("a weights file alone does not say the order of its weights", path,
                    "give the model's file");
  const hdf5::File file = hdf5::File::open(path);
  ordered_json arrays = ordered_json::array();
  std::int64_t parameters = 0;
  for (const std::string& name : file.datasets()) {
    const Shape shape = file.dataset(name).info().shape;
    parameters += shape.elements();
    arrays.push_back({{"name", name}, {"shape", shape.dims()}});
  }
  if (options.flag("json")) {
    std::printf("%s\n", ordered_json{{"parameters", parameters}, {"arrays", arrays}}.dump(1).c_str());
    return kExitDone;
  }
  for (const auto& array : arrays)
    std::printf("%-60s %s\n", array["name"].get<std::string>().c_str(), array["shape"].dump().c_str());
  std::printf("%lld numbers\n", static_cast<long long>(parameters));
  return kExitDone;
}

int run_inspect(const Options& options) {
  if (options.positional().size() != 1)
    throw UserError("give one file or folder", "stoker inspect",
                    "a model, a checkpoint, a run's directory or data");
  const std::string& path = options.positional()[0];
  if (is_directory(path) && (is_run(path) || is_checkpoint(path))) return inspect_model(path, options);
  const FileKind kind = is_directory(path) ? FileKind::data : kind_of_file(path);
  if (kind == FileKind::model) return inspect_model(path, options);
  return kind == FileKind::weights ? inspect_weights(path, options) : inspect_data(path, options);
}

}  // namespace

const Command kInspect = {"inspect",
                          "FILE|DIR [--json] [--hash] [--batch-size B [--ranks N] [--virtual-ranks V]]",
                          "what is in a model, a checkpoint, a run's directory or data", specs, run_inspect};

}  // namespace stoker::trainer
