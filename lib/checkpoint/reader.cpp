#include "lib/checkpoint/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>

#include "lib/base/error.h"
#include "lib/base/handle.h"
#include "lib/base/hash.h"
#include "lib/checkpoint/sealed_file.h"
#include "lib/checkpoint/shard_file.h"
#include "lib/checkpoint/step_folder.h"

namespace stoker::checkpoint {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr char kTakeAnother[] = "it is damaged; take another checkpoint";

Seal seal_of(const Index& index, std::size_t rank) {
  Seal seal;
  seal.step = index.step;
  seal.attempt = index.attempt;
  seal.save = index.save;
  seal.ranks = static_cast<int>(index.shards.size());
  seal.rank = static_cast<int>(rank);
  return seal;
}

// The shard is there, has the manifest's size, and belongs to the same save. Its content is not read.
void check_shard(const std::string& path, const Index& index, std::size_t rank) {
  const std::string file = path + "/" + index.shards[rank].file;
  const Seal seal = read_seal(file), expected = seal_of(index, rank);
  if (seal.kind != "shard" || !seal.same_save(expected) || seal.rank != expected.rank)
    throw UserError(
        fmt::format("belongs to another save (rank {} of {}, step {})", seal.rank, seal.ranks, seal.step),
        file, "take another checkpoint");
  if (seal.bytes != index.shards[rank].bytes || seal.digest != index.shards[rank].digest)
    throw UserError("is not the file that the manifest names", file, kTakeAnother);
}

// A shard open for reading its slices where the index says they are.
class ShardReader {
 public:
  ShardReader(const std::string& path, const Index& index, std::size_t rank)
      : index_(index),
        file_(path + "/" + index.shards[rank].file),
        fd_(::open(file_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!fd_) throw UserError("cannot read the file", file_, std::strerror(errno));
  }

  std::size_t bytes(const Slice& slice) const {
    return static_cast<std::size_t>(slice.elements()) * size_of(index_.tensors[slice.tensor].dtype);
  }

  // `to` has room for bytes(slice). Throws UserError, naming file, tensor and slice, when the checksum
  // differs.
  void read(const Slice& slice, void* to) const {
    read_at(fd_.get(), file_, to, bytes(slice), slice.offset);
    compare(slice, hash64(to, bytes(slice)));
  }

  // The same without keeping the elements.
  void verify(const Slice& slice) const {
    std::vector<std::byte> piece(std::min(bytes(slice), kPieceBytes));
    Hash64 hash;
    for (std::size_t at = 0; at < bytes(slice); at += piece.size()) {
      const std::size_t count = std::min(piece.size(), bytes(slice) - at);
      read_at(fd_.get(), file_, piece.data(), count, slice.offset + at);
      hash.update(piece.data(), count);
    }
    compare(slice, hash.value());
  }

 private:
  void compare(const Slice& slice, std::uint64_t checksum) const {
    if (checksum == slice.checksum) return;
    throw UserError(
        fmt::format("the elements [{}, {}) of tensor {} have changed since they were written (checksum)",
                    slice.begin, slice.end, index_.tensors[slice.tensor].name),
        file_, kTakeAnother);
  }

  const Index& index_;
  std::string file_;
  FileDescriptor fd_;
};

std::vector<std::string> verify_shard(const std::string& path, const Index& index, std::size_t rank) {
  const Shard& shard = index.shards[rank];
  std::vector<std::string> problems;
  const auto check = [&](const auto& action) {
    try {
      action();
      return true;
    } catch (const std::runtime_error& error) {
      problems.push_back(error.what());
      return false;
    }
  };
  if (!check([&] { check_shard(path, index, rank); })) return problems;
  check([&] {
    const ShardReader reader(path, index, rank);
    for (const Slice& slice : shard.slices) check([&] { reader.verify(slice); });
  });
  // The digest covers what the slices do not; where a slice is bad it says nothing more.
  if (problems.empty()) {
    const std::string file = path + "/" + shard.file;
    check([&] { verify_seal(file, read_seal(file)); });
  }
  return problems;
}

std::uint64_t bytes_in(const std::string& folder) {
  std::uint64_t bytes = 0;
  for (const std::string& name : names_in(folder)) {
    struct stat st {};
    if (name != kManifestName && !is_shard_name(name) && !is_temporary_name(name)) continue;
    if (::stat((folder + "/" + name).c_str(), &st) == 0) bytes += static_cast<std::uint64_t>(st.st_size);
  }
  return bytes;
}

// Tensor number → target. Throws where the names, shapes or types do not fit.
std::map<std::size_t, const TensorTarget*> match(const std::string& path, const Index& index,
                                                 std::span<const TensorTarget> targets, Names names) {
  const std::string advice = "is it a checkpoint of this model and optimizer?";
  std::map<std::string, std::size_t> number;
  for (std::size_t t = 0; t < index.tensors.size(); ++t) number[index.tensors[t].name] = t;
  std::map<std::size_t, const TensorTarget*> matched;
  for (const TensorTarget& target : targets) {
    const auto found = number.find(target.info.name);
    if (found == number.end())
      throw UserError("the checkpoint has no tensor " + target.info.name, path, advice);
    const TensorInfo& saved = index.tensors[found->second];
    if (saved != target.info)
      throw UserError(
          fmt::format("tensor {} is {} {} there and {} {} here", saved.name, name_of(saved.dtype),
                      to_string(saved.shape), name_of(target.info.dtype), to_string(target.info.shape)),
          path, advice);
    matched[found->second] = &target;
  }
  if (names == Names::all)
    for (const auto& [name, t] : number)
      if (!matched.contains(t))
        throw UserError("the checkpoint has a tensor that is not expected: " + name, path, advice);
  return matched;
}

}  // namespace

Manifest read_manifest(const std::string& path) {
  const std::string file = path + "/" + kManifestName;
  const Seal seal = read_seal(file);
  verify_seal(file, seal);
  if (seal.kind != "manifest") throw UserError("not a manifest", file, kTakeAnother);
  const ManifestText text = read_manifest_text(file);
  try {
    Manifest manifest{index_from_json(nlohmann::json::parse(text.index), file),
                      nlohmann::json::parse(text.state)};
    if (!seal.same_save(seal_of(manifest.index, 0)))
      throw UserError("seal and index disagree", file, kTakeAnother);
    return manifest;
  } catch (const nlohmann::json::exception& error) {
    throw UserError("cannot read the manifest", file, error.what());
  }
}

std::vector<Candidate> list(const std::string& directory) {
  std::vector<Candidate> candidates;
  for (const std::int64_t step : steps_in(directory)) {
    Candidate candidate;
    candidate.step = step;
    candidate.path = directory + "/" + step_directory_name(step);
    candidate.bytes = bytes_in(candidate.path);
    try {
      const Manifest manifest = read_manifest(candidate.path);
      candidate.ranks = static_cast<int>(manifest.index.shards.size());
      if (manifest.index.step != step)
        throw UserError(fmt::format("holds step {}", manifest.index.step), candidate.path, "was it renamed?");
      for (std::size_t rank = 0; rank < manifest.index.shards.size(); ++rank)
        check_shard(candidate.path, manifest.index, rank);
      candidate.complete = true;
    } catch (const std::runtime_error& error) {
      candidate.why =
          has_manifest(candidate.path) ? error.what() : "no manifest was written: the save was interrupted";
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::vector<std::string> verify(const std::string& path) {
  std::vector<std::string> problems;
  try {
    const Manifest manifest = read_manifest(path);
    for (std::size_t rank = 0; rank < manifest.index.shards.size(); ++rank)
      for (std::string& problem : verify_shard(path, manifest.index, rank))
        problems.push_back(std::move(problem));
  } catch (const std::runtime_error& error) {
    problems.push_back(error.what());
  }
  return problems;
}

Choice find_newest_good(const std::string& directory) {
  Choice choice;
  std::string newest_problem;
  for (Candidate& candidate : list(directory)) {
    std::vector<std::string> problems;
    if (candidate.complete)
      problems = verify(candidate.path);
    else
      problems.push_back(candidate.why);
    if (problems.empty()) {
      choice.good = std::move(candidate);
      return choice;
    }
    choice.skipped.push_back(candidate.path + ": " + problems.front());
    if (newest_problem.empty() && has_manifest(candidate.path)) newest_problem = problems.front();
  }
  if (!newest_problem.empty())
    throw UserError("none of the checkpoints is good; the newest", newest_problem,
                    "bring the missing files back, or start afresh with another --output");
  return choice;
}

nlohmann::json load(const std::string& path, std::span<const TensorTarget> targets, Names names) {
  Manifest manifest = read_manifest(path);
  const Index& index = manifest.index;
  const auto matched = match(path, index, targets, names);
  for (std::size_t rank = 0; rank < index.shards.size(); ++rank) {
    check_shard(path, index, rank);
    const ShardReader reader(path, index, rank);
    for (const Slice& slice : index.shards[rank].slices) {
      const auto found = matched.find(slice.tensor);
      if (found == matched.end()) continue;
      const std::size_t start =
          static_cast<std::size_t>(slice.begin) * size_of(index.tensors[slice.tensor].dtype);
      reader.read(slice, static_cast<std::byte*>(found->second->data) + start);
    }
  }
  return std::move(manifest.state);
}

}  // namespace stoker::checkpoint
