// What rank 0 does when every rank's shard is durable: finds the shards and writes the manifest. Runs on the
// writer's background thread; no MPI. Errors are thrown (UserError where other ranks' shards are not to be
// seen).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/checkpoint/layout.h"
#include "lib/checkpoint/sealed_file.h"

namespace stoker::checkpoint {

// The save to commit: its folder, and the seal of rank 0's shard, whose step, attempt, save and ranks all
// shards share.
struct SaveToCommit {
  std::string folder;
  Seal seal;
  std::span<const TensorInfo> tensors;
};

// The shards of all ranks as they are to be seen from here, each of the right size with the slices that its
// rank should have. Looks again, with growing pauses, for at most `seconds`: a network file system may show
// another node's file late.
std::vector<Shard> find_shards(const SaveToCommit& save, double seconds);

// Makes the folder a checkpoint: the manifest under a temporary name, fsync, rename. From the rename on it
// counts, so what fails later is not thrown but returned in words: then the new checkpoint is not known to be
// durable, and no older one may go. Shards and temporary files in the folder that the manifest does not name
// are removed.
std::string write_manifest_of(const SaveToCommit& save, std::vector<Shard> shards, const std::string& state);

// Removes the shards of this save, whoever wrote them, where the commit failed. Nothing throws.
void discard_save(const SaveToCommit& save) noexcept;

}  // namespace stoker::checkpoint
