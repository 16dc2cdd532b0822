// Finding, verifying and loading checkpoints, at any number of ranks. Nothing here writes, and nothing
// communicates: ranks that act together vote on what these functions found.
//
// All functions are thread-safe. Paths are those of the run's `checkpoints` folder (directory) or of one
// step's folder (path).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/checkpoint/layout.h"

namespace stoker::checkpoint {

struct Candidate {
  std::int64_t step = 0;
  std::string path;
  bool complete = false;    // the manifest can be read, and the shards it names are there with their sizes
  std::string why;          // when not complete: in words, naming the file
  std::uint64_t bytes = 0;  // all files of the folder that are ours
  int ranks = 0;            // shards of a complete one
};

// Every step folder, the newest (largest number) first, whatever `latest` says. Contents are not checked:
// verify does. Strangers' names are passed over; a directory that does not exist has none. SystemError when
// it cannot be listed.
std::vector<Candidate> list(const std::string& directory);

// Reads everything and verifies every checksum. Returns what is wrong, in words that name file, tensor and
// slice; empty: it is good.
std::vector<std::string> verify(const std::string& path);

struct Choice {
  std::optional<Candidate> good;     // the newest that verifies
  std::vector<std::string> skipped;  // newer ones that do not, one line each, for a warning
};

// The newest good checkpoint; verifies from the newest on. None at all, or only folders in which no manifest
// was ever written (a crash in the first save), is an empty `good`: a fresh start. Where there are manifests
// but none verifies, it throws a UserError that names the newest one's problem: never a silent fresh start.
Choice find_newest_good(const std::string& directory);

// The manifest alone. Throws UserError naming what is missing or damaged.
struct Manifest {
  Index index;
  nlohmann::json state;
};
Manifest read_manifest(const std::string& path);

// A tensor of the caller's that is to be filled: elements() · size_of(dtype) bytes, contiguous.
struct TensorTarget {
  TensorInfo info;
  void* data = nullptr;
};

enum class Names {
  all,    // targets and checkpoint have the same names
  these,  // the checkpoint may have more (evaluate and inspect need no optimizer state)
};

// Reads the targets in full, whatever number of ranks wrote them, verifying every checksum on the way, and
// returns the JSON state. Throws UserError naming the tensor that is missing, extra, or of another shape or
// type than the target; and naming file, tensor and slice where a checksum fails: targets may be partly
// overwritten then.
nlohmann::json load(const std::string& path, std::span<const TensorTarget> targets, Names names = Names::all);

}  // namespace stoker::checkpoint
