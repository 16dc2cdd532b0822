// How an all-reduce is cut up, and the memory it takes: arithmetic alone, without MPI, so that a memory plan
// can be made on any machine.
#pragma once

#include <cstdint>

#include "lib/comm/communicator.h"
#include "lib/comm/leaf_tree.h"

namespace stoker::comm {

// What rank `rank` of `world` does for every sum after prepare_sums(leaves, mode). Longer requests are worked
// on in units of unit_floats; up to kWindow units are under way at once, each with its scratch.
struct SumPlan {
  // Enough that one unit is added while others are on the wire.
  static constexpr int kWindow = 4;

  SumPlan(int rank, int world, int leaves, SumMode mode);

  int rank, world;
  SumMode mode;
  CombineSchedule combine;
  int own_subtrees;
  std::int64_t unit_floats;

  // A unit of `count` floats is cut into slices of this many, the last may be shorter; slice s is owned by
  // rank s.
  std::int64_t slice_floats(std::int64_t count) const;
  // The other ranks' subtrees of one slice, which an owner receives; at most, per unit.
  std::int64_t scratch_floats() const;
  // All of it: Communicator::sum_scratch_bytes(). (0 for a lone process, whose sums need none.)
  std::int64_t scratch_bytes() const;
};

}  // namespace stoker::comm
