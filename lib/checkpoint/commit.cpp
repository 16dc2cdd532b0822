#include "lib/checkpoint/commit.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/checkpoint/shard_file.h"
#include "lib/checkpoint/step_folder.h"

namespace stoker::checkpoint {
namespace {

// The seal of a shard of this save; nothing for any other file, and for one that is not whole (yet).
std::optional<Seal> seal_if_of_save(const SaveToCommit& save, const std::string& name) {
  if (!is_shard_name(name)) return std::nullopt;
  try {
    Seal seal = read_seal(save.folder + "/" + name);
    if (seal.same_save(save.seal) && seal.rank >= 0 && seal.rank < save.seal.ranks) return seal;
  } catch (const UserError&) {
  }
  return std::nullopt;
}

bool same_place(const Slice& a, const Slice& b) {
  return a.tensor == b.tensor && a.begin == b.begin && a.end == b.end;
}

Shard read_shard(const SaveToCommit& save, const std::string& name, const Seal& seal) {
  Shard shard{name, seal.bytes, seal.digest, read_shard_index(save.folder + "/" + name)};
  const std::vector<Slice> expected = slices_of_rank(save.tensors, seal.rank, seal.ranks);
  if (!std::equal(shard.slices.begin(), shard.slices.end(), expected.begin(), expected.end(), same_place))
    throw UserError("the shard holds other slices than its rank should", save.folder + "/" + name,
                    "do all ranks run the same program and model?");
  return shard;
}

[[noreturn]] void not_visible(const SaveToCommit& save, const std::vector<Shard>& shards) {
  std::vector<std::string> missing;
  for (std::size_t rank = 0; rank < shards.size(); ++rank)
    if (shards[rank].file.empty()) missing.push_back(std::to_string(rank));
  const std::size_t count = missing.size();
  if (count > 8) missing.resize(8);
  throw UserError(
      fmt::format("{} of {} shards are not to be seen from rank 0 (rank{} {}{})", count, shards.size(),
                  count > 1 ? "s" : "", fmt::join(missing, ", "), count > 8 ? ", …" : ""),
      save.folder, "give an --output on a file system that all nodes share");
}

}  // namespace

std::vector<Shard> find_shards(const SaveToCommit& save, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<Shard> shards(static_cast<std::size_t>(save.seal.ranks));
  std::size_t found = 0;
  for (auto pause = std::chrono::milliseconds(5);;
       pause = std::min(2 * pause, std::chrono::milliseconds(500))) {
    for (const std::string& name : names_in(save.folder)) {
      const auto seal = seal_if_of_save(save, name);
      if (!seal || !shards[static_cast<std::size_t>(seal->rank)].file.empty()) continue;
      shards[static_cast<std::size_t>(seal->rank)] = read_shard(save, name, *seal);
      ++found;
    }
    if (found == shards.size()) return shards;
    if (Clock::now() >= deadline) not_visible(save, shards);
    std::this_thread::sleep_for(pause);
  }
}

std::string write_manifest_of(const SaveToCommit& save, std::vector<Shard> shards, const std::string& state) {
  Index index;
  index.step = save.seal.step;
  index.attempt = save.seal.attempt;
  index.save = save.seal.save;
  index.tensors.assign(save.tensors.begin(), save.tensors.end());
  index.shards = std::move(shards);
  Seal seal = save.seal;
  seal.kind = "manifest";
  const std::string path = save.folder + "/" + kManifestName;
  const std::string temporary = temporary_name(path);
  write_manifest(temporary, index, state, seal);
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw_errno("rename", path);
  try {
    sync_path(save.folder);
    for (const std::string& name : names_in(save.folder)) {
      const auto named = [&](const Shard& shard) { return shard.file == name; };
      const bool used = std::any_of(index.shards.begin(), index.shards.end(), named);
      if (is_temporary_name(name) || (is_shard_name(name) && !used)) discard_file(save.folder + "/" + name);
    }
  } catch (const SystemError& error) {
    return error.what();
  }
  return "";
}

void discard_save(const SaveToCommit& save) noexcept {
  try {
    discard_file(save.folder + "/" + temporary_name(kManifestName));
    for (const std::string& name : names_in(save.folder))
      if (seal_if_of_save(save, name)) discard_file(save.folder + "/" + name);
    discard_folder_if_empty(save.folder);
  } catch (const std::exception&) {
    // The error to tell is the one that made the commit fail.
  }
}

}  // namespace stoker::checkpoint
