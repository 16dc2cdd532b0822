// What the trainer needs of its peers. Only trainer/ and communicator_factory.h name a concrete kind.
//
// SPMD: all ranks make the same calls in the same order. All functions are for one thread, the training
// thread, except where noted. A failure of the transport is a SystemError on the rank that met it; that rank
// then prints its line and calls abort(): its peers cannot go on without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/base/error.h"
#include "lib/comm/leaf_tree.h"

namespace stoker::comm {

// tree     the sum of leaf_tree.h: the same bits on any number of ranks
// library  the ranks' sums through the library's own all-reduce: bits may differ with the number of ranks
enum class SumMode { tree, library };

// One all-reduce over the same range of several buffers. subtrees[i] points at the range in the buffer that
// holds the rank's i-th maximal subtree (LocalSchedule::results, in that order). `output` receives the sum
// over all leaves; it may be subtrees[0]. All buffers belong to the communicator until wait_all() returns;
// those of the subtrees then hold nothing of use (output excepted). Ranges of requests in flight must not
// overlap.
struct SumRequest {
  std::span<float* const> subtrees;
  float* output = nullptr;
  std::int64_t count = 0;  // floats; 0 is allowed; the same on all ranks
};

// What one wait_all() took, in nanoseconds of wall time.
struct WaitTime {
  std::int64_t exposed = 0;  // all of it: what the backward pass did not hide
  std::int64_t straggler =
      0;  // the part of `exposed` before the last peer had come to its wait_all(); the rest is wire
};

// Since the start of the process.
struct SumCounters {
  std::int64_t requests = 0;
  std::int64_t bytes_sent = 0;  // payload of sums that this rank sent (tree) or handed to the library
  std::int64_t busy = 0;     // ns in which at least one sum was under way; busy - exposed is what was hidden
  std::int64_t exposed = 0;  // ns, sum over wait_all()
  std::int64_t straggler = 0;  // ns, part of exposed
};

// Which ranks share this rank's node, and which of those may run on cores that this rank may run on too (the
// affinity masks intersect): compute threads are the mask's cores divided among the latter.
struct LocalRanks {
  int node_rank = 0, node_size = 1;
  int mask_rank = 0, mask_size = 1;
};

struct WatchdogOptions {
  // A collective has lasted this long and a rank gave no sign of life meanwhile: stopped, or its node is
  // gone.
  double silent_seconds = 30;
  // A collective has lasted this long although all ranks live: one computes for ever, or a message got lost.
  double stuck_seconds = 600;
};

enum class ReduceOperation { minimum, maximum, sum };

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::vector<std::string>& hosts() const = 0;  // of every rank
  virtual LocalRanks local_ranks() const = 0;

  // -- Sums.
  // ------------------------------------------------------------------------------------------------------
  // Before the first begin_sum(), and again only while no sum is in flight. size() <= leaves.
  virtual void prepare_sums(int leaves, SumMode mode) = 0;
  // Memory that the sums of prepare_sums() use in this process, beyond the caller's buffers.
  virtual std::int64_t sum_scratch_bytes() const = 0;
  // Posts a request and returns; it is worked on beside the caller's computing. Allocates only while the
  // number of requests between two wait_all() grows.
  virtual void begin_sum(const SumRequest& request) = 0;
  // Blocks until all posted sums are in their outputs. Throws what the transport threw.
  virtual WaitTime wait_all() = 0;
  virtual SumCounters counters() const = 0;

  // -- Small blocking things, for start-up, ends of epochs and reports. Complete all posted sums first.
  // ---------------
  virtual void barrier() = 0;
  // `bytes` is the same on all ranks and may exceed 2^31.
  virtual void broadcast(void* data, std::int64_t bytes, int root) = 0;
  // Every rank's bytes, by rank; lengths may differ; 2 GiB in all.
  virtual std::vector<std::string> all_gather(std::string_view mine) = 0;

  // Every rank's record, by rank.
  template <typename T>
  std::vector<T> all_gather_record(const T& mine) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::vector<std::string> parts = all_gather({reinterpret_cast<const char*>(&mine), sizeof mine});
    std::vector<T> records(parts.size());
    for (std::size_t r = 0; r < parts.size(); ++r) {
      if (parts[r].size() != sizeof(T))
        throw SystemError("all_gather failed", "a record of another size came in");
      std::memcpy(&records[r], parts[r].data(), sizeof(T));
    }
    return records;
  }
  // In place, element by element; the length is the same on all ranks. All ranks get the same bits, but a sum
  // of doubles is in rank order: for times and reports, not for what must not depend on the number of ranks.
  void reduce(std::span<std::int64_t> values, ReduceOperation operation);
  void reduce(std::span<double> values, ReduceOperation operation);
  std::string broadcast_string(std::string_view text, int root);

  // -- Failure and the end.
  // --------------------------------------------------------------------------------------- What this rank
  // does now, for the watchdogs of its peers: `activity` is a few words ("backward pass"), cut at 39 bytes.
  // Cheap (no system call): call it at every change of phase. Any thread.
  virtual void set_activity(std::int64_t step, std::string_view activity) = 0;
  // From now on a collective that does not end (see WatchdogOptions) ends the job: one rank prints one line
  // that says which ranks and hosts are missing, what each was last in, and whether to run again; the exit
  // code is 1.
  virtual void start_watchdog(const WatchdogOptions& options) = 0;
  // This rank alone cannot go on, and has printed why: ends all ranks; `code` is what the launchers return.
  // Any thread.
  [[noreturn]] virtual void abort(int code) = 0;
  // The orderly end, called once by every rank after its work is done: the ranks agree on one code (the
  // largest), meet in a barrier and finalize. Returns the code that every rank must return from main().
  // Nothing else may be called afterwards. A communicator destroyed without finish() takes part in nothing:
  // the process is failing.
  virtual int finish(int code) = 0;

 protected:
  Communicator() = default;
};

}  // namespace stoker::comm
