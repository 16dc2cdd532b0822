#include "trainer/resume.h"

#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/log.h"
#include "lib/checkpoint/reader.h"
#include "trainer/agree.h"

namespace stoker::trainer {
namespace {

// The newest good one in a `checkpoints` folder; "" if there is none.
std::string newest_in(const std::string& folder) {
  const checkpoint::Choice choice = checkpoint::find_newest_good(folder);
  for (const std::string& skipped : choice.skipped) say_warning("skipped a damaged checkpoint: " + skipped);
  return choice.good ? choice.good->path : "";
}

// --resume DIR names a run, its checkpoints folder, or one checkpoint.
std::string named(const std::string& directory) {
  const std::string name =
      std::filesystem::path(directory + "/.").lexically_normal().parent_path().filename();
  if (checkpoint::parse_step_directory(name)) {
    const std::vector<std::string> problems = checkpoint::verify(directory);
    if (!problems.empty()) throw UserError("the checkpoint is damaged", problems[0], "give another --resume");
    return directory;
  }
  const bool is_run = is_directory(directory + "/checkpoints");
  const std::string path = newest_in(is_run ? directory + "/checkpoints" : directory);
  if (path.empty())
    throw UserError("no checkpoint to resume from", directory, "give a run's directory, or --resume auto");
  return path;
}

// A run that starts afresh writes over nothing that somebody may want: the model of a run whose checkpoints
// are gone, files of another program. What an attempt leaves that failed before its first checkpoint is no
// obstacle.
void refuse_files_to_lose(const std::string& output) {
  if (path_exists(output + "/model.h5"))
    throw UserError("there is a model, but no checkpoint to go on from", output + "/model.h5",
                    "give a new --output, or move the folder away");
  if (path_exists(output + "/run.json")) return;
  for (const char* name : {"/metrics.jsonl", "/report.txt", "/report.json"})
    if (path_exists(output + name))
      throw UserError("the folder holds files, but not of a run", output + name, "give a new --output");
}

// Rank 0's part; "" for a fresh start.
std::string choose(const TrainOptions& options) {
  const std::string own = options.output + "/checkpoints";
  if (checkpoint::list(own).empty()) refuse_files_to_lose(options.output);
  if (options.resume == Resume::never) {
    if (!checkpoint::list(own).empty())
      throw UserError("--resume never, but there are checkpoints of a run", own,
                      "give a new --output, or remove them");
    return "";
  }
  // A run that was started from another directory's checkpoint goes on from its own.
  if (options.resume == Resume::directory && checkpoint::list(own).empty())
    return named(options.resume_directory);
  return newest_in(own);
}

}  // namespace

std::optional<ResumePoint> find_resume_point(comm::Communicator& communicator, const TrainOptions& options) {
  ResumePoint point;
  agree(communicator, [&] {
    if (communicator.rank() == 0) point.path = choose(options);
  });
  point.path = communicator.broadcast_string(point.path, 0);
  if (point.path.empty()) return std::nullopt;
  agree(communicator, [&] {
    if (!is_directory(point.path))
      throw UserError(
          "the checkpoint is not to be seen from every rank",
          point.path + " on " + communicator.hosts()[static_cast<std::size_t>(communicator.rank())],
          "put --output on a file system that all nodes share");
    point.document = checkpoint::read_manifest(point.path).state;
    point.state = loop_state_from_json(point.document.value("state", nlohmann::json()), point.path);
  });
  return point;
}

void load_resume_point(comm::Communicator& communicator, const ResumePoint& point,
                       const ParameterStore& store) {
  agree(communicator, [&] { checkpoint::load(point.path, store.targets()); });
}

}  // namespace stoker::trainer
