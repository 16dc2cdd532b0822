#include "lib/checkpoint/step_folder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/checkpoint/layout.h"

namespace stoker::checkpoint {
namespace {

void unlink_if_there(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw_errno("unlink", path);
}

}  // namespace

std::vector<std::string> names_in(const std::string& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  std::vector<std::string> names;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error))
    names.push_back(entries->path().filename().string());
  if (error) throw SystemError("readdir failed", folder + ": " + error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::int64_t> steps_in(const std::string& directory) {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(directory))
    if (const auto step = parse_step_directory(name); step && is_directory(directory + "/" + name))
      steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

bool has_manifest(const std::string& step_folder) { return path_exists(step_folder + "/" + kManifestName); }

void remove_step(const std::string& step_folder) {
  if (has_manifest(step_folder)) {
    unlink_if_there(step_folder + "/" + kManifestName);
    sync_path(step_folder);
  }
  for (const std::string& name : names_in(step_folder))
    if (is_shard_name(name) || is_temporary_name(name)) unlink_if_there(step_folder + "/" + name);
  if (::rmdir(step_folder.c_str()) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
    throw_errno("rmdir", step_folder);
}

void discard_file(const std::string& path) { static_cast<void>(::unlink(path.c_str())); }
void discard_folder_if_empty(const std::string& path) { static_cast<void>(::rmdir(path.c_str())); }

void apply_retention(const std::string& directory, std::int64_t committed, int keep,
                     const std::set<std::int64_t>& always) {
  int complete = 0;
  for (const std::int64_t step : steps_in(directory)) {
    const std::string folder = directory + "/" + step_directory_name(step);
    const bool leftover = !has_manifest(folder);
    if (!leftover) ++complete;
    if (leftover ? step < committed
                 : keep > 0 && complete > keep && step != committed && !always.contains(step))
      remove_step(folder);
  }
  // What an attempt that was killed while it wrote `latest` left.
  for (const std::string& name : names_in(directory))
    if (name.starts_with(std::string(kLatestName) + ".tmp.")) unlink_if_there(directory + "/" + name);
}

void set_aside_newer(const std::string& directory, std::int64_t committed,
                     const std::vector<std::int64_t>& steps) {
  for (const std::int64_t step : steps) {
    const std::string folder = directory + "/" + step_directory_name(step);
    if (step <= committed || !is_directory(folder)) continue;
    if (!has_manifest(folder)) {
      remove_step(folder);
      continue;
    }
    const std::string base = directory + "/superseded-" + step_directory_name(step);
    std::string aside = base;
    for (int n = 1; path_exists(aside); ++n) aside = base + "-" + std::to_string(n);
    if (::rename(folder.c_str(), aside.c_str()) != 0) throw_errno("rename", aside);
  }
}

}  // namespace stoker::checkpoint
