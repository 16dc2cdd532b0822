#include "lib/comm/sum_plan.h"

#include <algorithm>

namespace stoker::comm {
namespace {

// A unit is large enough that a message to one owner is at least 128 KiB, and small enough that the scratch
// of a few units is bounded and adding overlaps with the wire. It also keeps every MPI count far below 2^31.
constexpr std::int64_t kUnitFloats = std::int64_t{1} << 20;
constexpr std::int64_t kUnitFloatsPerRank = std::int64_t{1} << 15;
// Short requests go to few owners: below this, more messages cost more than they share.
constexpr std::int64_t kMinSliceFloats = 1024;
constexpr std::int64_t kCacheLineFloats = 16;

}  // namespace

SumPlan::SumPlan(int rank_, int world_, int leaves, SumMode mode_)
    : rank(rank_),
      world(world_),
      mode(mode_),
      combine(combine_schedule(leaves, world_)),
      own_subtrees(combine.first_input[static_cast<std::size_t>(rank_) + 1] -
                   combine.first_input[static_cast<std::size_t>(rank_)]),
      unit_floats(std::max(kUnitFloats, kUnitFloatsPerRank * world_)) {}

std::int64_t SumPlan::slice_floats(std::int64_t count) const {
  const std::int64_t even = (count + world - 1) / world;
  const std::int64_t aligned = (even + kCacheLineFloats - 1) / kCacheLineFloats * kCacheLineFloats;
  return std::max(kMinSliceFloats, aligned);
}

std::int64_t SumPlan::scratch_floats() const {
  if (mode == SumMode::library) return 0;
  const auto received = static_cast<std::int64_t>(combine.inputs.size()) - own_subtrees;
  return received * slice_floats(unit_floats);
}

std::int64_t SumPlan::scratch_bytes() const {
  return kWindow * scratch_floats() * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace stoker::comm
