// The posted sums, cut into units that a window of TreeSums works on. Units are started in the order of
// posting, the same on all ranks; they may end in any order.
//
// The training thread posts, the communication thread works. What both touch is guarded by the mutex given at
// construction, which is never held around an MPI call.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/comm/tree_sum.h"

namespace stoker::comm {

class SumQueue {
 public:
  SumQueue(int rank, int world, int leaves, SumMode mode, MPI_Comm communicator, std::mutex& mutex);

  // -- With the mutex held.
  // --------------------------------------------------------------------------------------- Throws
  // std::invalid_argument for a wrong number of subtrees.
  void post(const SumRequest& request);
  bool all_complete() const { return complete_ == posted_.size(); }
  std::size_t posted() const { return posted_.size(); }
  void forget();  // all_complete() must hold

  // -- The communication thread, with the mutex not held.
  // ----------------------------------------------------------- Starts what fits into the window and polls
  // it; true if anything happened.
  bool work();
  void mark_missing(std::vector<char>& flags) const;
  std::int64_t bytes_sent() const;

  std::int64_t scratch_bytes() const { return plan_.scratch_bytes(); }  // any thread

 private:
  struct Posted {
    std::array<float*, kMaxSubtrees> subtrees;
    float* output;
    std::int64_t count;
    std::int64_t units_left;
  };
  struct Slot {
    std::unique_ptr<TreeSum> sum;
    std::size_t request = 0;
  };

  bool start_next(Slot& slot);

  const SumPlan plan_;
  std::mutex& mutex_;
  std::vector<Posted> posted_;    // guarded
  std::size_t complete_ = 0;      // guarded: how many of posted_ are in their outputs
  std::size_t next_request_ = 0;  // guarded: of the next unit to start, at next_offset_
  std::int64_t next_offset_ = 0;  // guarded

  std::array<Slot, SumPlan::kWindow> window_;
  std::int64_t sequence_ = 0;
  std::vector<float*> unit_subtrees_;
};

}  // namespace stoker::comm
