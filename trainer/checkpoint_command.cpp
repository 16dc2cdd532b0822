// `stoker checkpoint`: lists and verifies checkpoints, and makes Keras files of them.
#include <cstdio>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "lib/checkpoint/reader.h"
#include "trainer/checkpoint_model.h"
#include "trainer/command.h"
#include "trainer/output_file.h"

namespace stoker::trainer {
namespace {

constexpr OptionSpec kSpecs[] = {
    {"output,o", "FILE.h5", nullptr, "export: the Keras file to write"},
    {"help", nullptr, nullptr, "this text"},
};

std::span<const OptionSpec> specs() { return kSpecs; }

std::string folder_of(const std::string& directory) {
  if (!is_directory(directory))
    throw UserError("no such folder", directory, "give a run's directory or its checkpoints folder");
  return is_directory(directory + "/checkpoints") ? directory + "/checkpoints" : directory;
}

int list(const std::string& directory) {
  for (const checkpoint::Candidate& c : checkpoint::list(folder_of(directory)))
    std::printf(
        "step %lld\t%s\t%s\t%s\n", static_cast<long long>(c.step), format_bytes(c.bytes).c_str(),
        c.complete ? (std::to_string(c.ranks) + (c.ranks == 1 ? " shard" : " shards")).c_str() : "incomplete",
        c.complete ? c.path.c_str() : c.why.c_str());
  return kExitDone;
}

// One checkpoint, or all of a run: every line says good or what is wrong. Exit 2 if any is not good.
int verify(const std::string& directory) {
  std::vector<std::string> paths;
  if (is_checkpoint(directory))
    paths.push_back(directory);
  else
    for (const checkpoint::Candidate& c : checkpoint::list(folder_of(directory))) paths.push_back(c.path);
  if (paths.empty()) throw UserError("there are no checkpoints", directory, "give a run's directory");
  std::size_t bad = 0;
  for (const std::string& path : paths) {
    const std::vector<std::string> problems = checkpoint::verify(path);
    std::printf("%s: %s\n", path.c_str(), problems.empty() ? "good" : "DAMAGED");
    for (const std::string& problem : problems) std::printf("  %s\n", printable(problem).c_str());
    bad += problems.empty() ? 0 : 1;
  }
  std::fflush(stdout);
  if (bad == 0) return kExitDone;
  throw UserError(std::to_string(bad) + " of " + std::to_string(paths.size()) + " checkpoints are damaged",
                  directory, "a run resumes from the newest good one; remove the damaged folders");
}

int export_model(const std::string& directory, const Options& options) {
  const std::string file = options.required("output");
  check_output_file(file, {".h5", ".hdf5"});
  keras::save_model_h5(load_checkpoint_model(newest_checkpoint(directory)), file);
  return kExitDone;
}

int run_checkpoint(const Options& options) {
  const std::vector<std::string>& words = options.positional();
  if (words.size() == 2 && words[0] == "list") return list(words[1]);
  if (words.size() == 2 && words[0] == "verify") return verify(words[1]);
  if (words.size() == 2 && words[0] == "export") return export_model(words[1], options);
  const std::string given = words.empty() ? "stoker checkpoint" : "stoker checkpoint " + join(words, " ");
  throw UserError("one action and one folder are wanted", given,
                  "write list DIR, verify DIR, or export DIR -o FILE.h5");
}

}  // namespace

const Command kCheckpoint = {"checkpoint", "list|verify|export DIR [-o FILE.h5]",
                             "lists and verifies checkpoints; makes a Keras file of one", specs,
                             run_checkpoint};

}  // namespace stoker::trainer
