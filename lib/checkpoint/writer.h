// Saving: every rank writes a shard in the background; when all shards are durable, rank 0 makes them a
// checkpoint.
//
//   OUTPUT/checkpoints/step-00001000/shard-00000-of-00002.h5   one a rank
//                                    manifest.h5   written last: with it the folder is a checkpoint
//   OUTPUT/checkpoints/latest   "step-00001000\n"
//
// Each file is written under a temporary name, fsynced, renamed, and its folder fsynced, so that after a
// crash at any moment every checkpoint that was complete still is.
//
// The protocol, which the training loop drives with one vote a step:
//   begin         all ranks in the same step, when no rank is busy(): vote on it, rank 0 commits
//                 while others are idle
//   all ranks     state() == durable? state() == failed? are the votes
//   any failed    all ranks: abandon() removes what this save wrote, older checkpoints stay; message() is a
//                 warning
//   all durable   rank 0: commit(), the others: release()
//   rank 0        state() becomes committed or failed in the background; the next begin() or release() ends it
//
// At the end of a run: wait(), vote, commit(), wait().
//
// One save at a time: begin() while busy() is a std::logic_error. A writer owns one background thread, which
// makes no MPI call. HDF5 lays the shard out once, in memory; a save copies the elements to their places
// there and writes the whole with write(2), so it does not hold HDF5's global lock, and reading input from
// HDF5 meanwhile is not held up.
//
// All members are called by one thread. Nothing but the constructor and begin() throws; failures come as
// state failed.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/checkpoint/layout.h"

namespace stoker::checkpoint {

struct WriterOptions {
  std::string directory;  // OUTPUT/checkpoints; made when missing
  int rank = 0, ranks = 1;
  int keep = 3;  // newest checkpoints that stay; 0: all
  // Shared by all ranks of this attempt and by no other attempt (rank 0 draws it and tells the others): tells
  // this attempt's shards from those that an earlier one left in the same folder.
  std::uint64_t attempt = 0;
  std::optional<std::int64_t> resumed_from;  // this step's checkpoint is never removed
  double visible_within_seconds = 10;        // how long commit() looks for the other ranks' shards
};

// A tensor to be saved, in host memory of the caller, valid during begin(); every rank has all of it.
struct TensorSource {
  TensorInfo info;
  const void* data = nullptr;
};

enum class SaveState {
  idle,
  writing,     // the shard, in the background
  durable,     // this rank's shard is
  committing,  // rank 0: the manifest, in the background
  committed,   // rank 0
  failed,      // message() says why
};

class Writer {
 public:
  // Makes the directory; throws UserError when that cannot be done.
  explicit Writer(WriterOptions options);
  // Waits for the background thread; a save that was not committed leaves no checkpoint.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Host memory that a writer holds once reserve() or begin() saw these tensors: the bytes of this rank's
  // shard. For `plan` and the memory report.
  static std::uint64_t staging_bytes(std::span<const TensorInfo> tensors, int rank, int ranks);

  // Makes the staging buffer for these tensors now, so that the first begin() need not. Throws as begin() does.
  void reserve(std::span<const TensorInfo> tensors);

  // Starts a save of the state after `step` steps. Tensors come in the same order on every rank. `state` is
  // the JSON document of scalar state (used on rank 0 only; numbers that may be NaN or infinite through
  // exact_json). Blocks for the copy alone; the staging buffer is kept and reused. Text in it that is no
  // UTF-8 is written with replacement characters. Throws std::logic_error while busy(), and std::bad_alloc.
  void begin(std::int64_t step, std::span<const TensorSource> tensors, const nlohmann::json& state);

  SaveState state() const;
  bool busy() const;  // writing, durable or committing
  // Why the save failed, in one line; after committed: what went wrong beside it (`latest`, retention), or
  // empty.
  std::string message() const;
  // The UserError or SystemError of a failed save, to be rethrown where it was the run's last; null
  // otherwise.
  std::exception_ptr error() const;

  // Rank 0, state durable, after all ranks' shards are: in the background, checks that all shards are to be
  // seen and whole from here, writes manifest.h5, then `latest`, and only then removes what retention lets
  // go.
  void commit();
  // The other ranks, state durable (also rank 0 when committed): back to idle.
  void release();
  // Any state but committing: removes this rank's uncommitted shard, waiting for the background thread if
  // need be; back to idle.
  void abandon();
  // Blocks until the background thread has nothing to do; returns state().
  SaveState wait();

  // The checkpoint of this step is the best so far: retention keeps it (rank 0; say it again after a resume).
  void mark_best(std::int64_t step);

  // Seconds that the last successful save took this rank from begin() to durable, plus from commit() to
  // committed; 0 before the first. The time to allow for one before a job's end.
  double last_save_seconds() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stoker::checkpoint
