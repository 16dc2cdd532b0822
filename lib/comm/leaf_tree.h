// The arithmetic of virtual ranks and of the fixed summation tree. Pure functions, no I/O, thread-safe.
//
// A global batch of n samples is split over V leaves (virtual ranks); N <= V ranks hold consecutive runs of
// leaves:
//   leaves of rank r of N       [floor(r·V/N), floor((r+1)·V/N))      never empty as N <= V
//   samples of leaf v of V      [floor(v·n/V), floor((v+1)·n/V))      empty for some leaves where n < V
//
// THE RULE. A sum over leaves [lo, hi) is
//   sum(lo, lo+1) = the leaf's own value
//   sum(lo, hi)   = sum(lo, mid) + sum(mid, hi),   mid = floor((lo + hi) / 2)
// and the result of a step is sum(0, V). The ranges [lo, hi) that occur in this recursion are the subtrees
// ("nodes"). The order of the floating-point additions thus depends on V alone: any N gives the same bits,
// whoever adds.
//
// A rank's run of leaves is in general no node. It is covered by its maximal subtrees: the nodes inside the
// run whose parent is not inside it, in leaf order. A rank sums inside each of them (local_schedule); the
// sums of all ranks together are combined by combine_schedule.
#pragma once

#include <cstdint>
#include <vector>

namespace stoker::comm {

// The largest V. It bounds the number of maximal subtrees of a run: at most 2·log2(V).
inline constexpr int kMaxLeaves = 1 << 20;
inline constexpr int kMaxSubtrees = 40;

// Half-open ranges [begin, end).
struct LeafRange {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool operator==(const LeafRange&) const = default;
};
struct SampleRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const SampleRange&) const = default;
};

// 0 <= rank < world <= leaves <= kMaxLeaves, 0 <= leaf < leaves, samples >= 0; std::invalid_argument
// otherwise (a caller's mistake: the options are checked before).
LeafRange leaves_of_rank(int rank, int world, int leaves);
SampleRange samples_of_leaf(int leaf, int leaves, std::int64_t samples);

// The nodes inside `run` whose parent is not inside it, in leaf order; they cover `run` without overlap.
std::vector<LeafRange> maximal_subtrees(int leaves, LeafRange run);

// slot[into] = slot[into] + slot[from], element by element; afterwards `from` is free.
struct Merge {
  int into = 0, from = 0;
  bool operator==(const Merge&) const = default;
};

// What a rank does with the gradients of its leaves, taken in leaf order. A slot is a whole gradient buffer.
// The gradient of leaf steps[i].leaf overwrites slot steps[i].slot; then the merges follow in their order.
struct LocalSchedule {
  struct Step {
    int leaf = 0;
    int slot = 0;
    std::vector<Merge> merges;
  };
  struct Result {
    LeafRange subtree;
    int slot = 0;
  };
  std::vector<Step> steps;      // one a leaf of the run
  std::vector<Result> results;  // one a maximal subtree, in leaf order; results[0].slot is 0
  int slots = 0;                // how many buffers are needed: at most results + log2(V)
};
LocalSchedule local_schedule(int leaves, LeafRange run);

// How the maximal subtrees of all `world` ranks become sum(0, V). The inputs are all ranks' maximal subtrees,
// rank by rank, thus in leaf order; first_input[r] is the index of the first of rank r, first_input[world]
// their number. The merges, done in order on the inputs (any slice of them alone), leave the result in input
// 0.
struct CombineSchedule {
  std::vector<LeafRange> inputs;
  std::vector<int> first_input;
  std::vector<Merge> merges;
};
CombineSchedule combine_schedule(int leaves, int world);

}  // namespace stoker::comm
