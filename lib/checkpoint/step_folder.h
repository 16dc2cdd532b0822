// The folders on disk: which steps there are, and how a step is removed or a run's directory thinned out.
//
// Only files whose names are ours are ever touched; a stranger's file, and the folder around it, stay.
// Thread-safe for different directories. Failing system calls are SystemError unless said otherwise.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace stoker::checkpoint {

// The names in a folder, sorted; none when it does not exist.
std::vector<std::string> names_in(const std::string& folder);

// The steps that have a folder, the newest (largest) first.
std::vector<std::int64_t> steps_in(const std::string& directory);

bool has_manifest(const std::string& step_folder);

// Removes what is ours in a step's folder, and the folder if it is empty then. The manifest goes first,
// durably: what a crash leaves is no checkpoint.
void remove_step(const std::string& step_folder);

// A file that should not stay after a failure: the error to tell is another one, so failing is ignored.
void discard_file(const std::string& path);
void discard_folder_if_empty(const std::string& path);

// Removes the checkpoints that `keep` (0: all stay) does not cover: the newest `keep` complete ones,
// `committed` and those in `always` stay. Older folders without a manifest go too: leftovers of crashes.
void apply_retention(const std::string& directory, std::int64_t committed, int keep,
                     const std::set<std::int64_t>& always);

// After a run went back to an older checkpoint, those that came after it in its earlier life would be taken
// for the newest. Each step in `steps` above `committed` is renamed to superseded-step-…, or removed if it
// has no manifest.
void set_aside_newer(const std::string& directory, std::int64_t committed,
                     const std::vector<std::int64_t>& steps);

}  // namespace stoker::checkpoint
