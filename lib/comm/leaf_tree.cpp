#include "lib/comm/leaf_tree.h"

#include <algorithm>
#include <stdexcept>

namespace stoker::comm {
namespace {

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

LeafRange left_child(LeafRange node) { return {node.begin, (node.begin + node.end) / 2}; }
LeafRange right_child(LeafRange node) { return {(node.begin + node.end) / 2, node.end}; }

// Appends the nodes below `node` that are maximal inside `run`.
void collect_maximal(LeafRange node, LeafRange run, std::vector<LeafRange>& found) {
  const bool outside = node.end <= run.begin || run.end <= node.begin;
  if (outside) return;
  const bool inside = run.begin <= node.begin && node.end <= run.end;
  if (inside) {
    found.push_back(node);
    return;
  }
  collect_maximal(left_child(node), run, found);
  collect_maximal(right_child(node), run, found);
}

// Slots in use; the lowest free one is taken first, so that the first result stays in slot 0.
class SlotPool {
 public:
  int take() {
    const auto free = std::find(used_.begin(), used_.end(), false);
    if (free == used_.end()) {
      used_.push_back(true);
      return static_cast<int>(used_.size()) - 1;
    }
    *free = true;
    return static_cast<int>(free - used_.begin());
  }
  void give_back(int slot) { used_[static_cast<std::size_t>(slot)] = false; }
  int size() const { return static_cast<int>(used_.size()); }

 private:
  std::vector<bool> used_;
};

// Appends the steps of `node`, depth first, left before right; returns the slot that holds its sum.
int schedule_node(LeafRange node, SlotPool& pool, std::vector<LocalSchedule::Step>& steps) {
  if (node.size() == 1) {
    steps.push_back({node.begin, pool.take(), {}});
    return steps.back().slot;
  }
  const int left = schedule_node(left_child(node), pool, steps);
  const int right = schedule_node(right_child(node), pool, steps);
  steps.back().merges.push_back({left, right});
  pool.give_back(right);
  return left;
}

// Appends the merges of `node`, whose first leaf is that of inputs[next]; advances `next` past the node.
void combine_node(LeafRange node, CombineSchedule& schedule, int& next) {
  if (schedule.inputs[static_cast<std::size_t>(next)] == node) {
    ++next;
    return;
  }
  const int left = next;
  combine_node(left_child(node), schedule, next);
  const int right = next;
  combine_node(right_child(node), schedule, next);
  schedule.merges.push_back({left, right});
}

}  // namespace

LeafRange leaves_of_rank(int rank, int world, int leaves) {
  require(leaves >= 1 && leaves <= kMaxLeaves, "leaves_of_rank: leaves out of range");
  require(world >= 1 && world <= leaves && rank >= 0 && rank < world,
          "leaves_of_rank: rank or world out of range");
  const auto bound = [&](std::int64_t r) { return static_cast<int>(r * leaves / world); };
  return {bound(rank), bound(rank + 1)};
}

SampleRange samples_of_leaf(int leaf, int leaves, std::int64_t samples) {
  require(leaves >= 1 && leaf >= 0 && leaf < leaves && samples >= 0,
          "samples_of_leaf: argument out of range");
  // floor(v·n/V) as v·(n div V) + v·(n mod V) div V: no product beyond 64 bits.
  const auto bound = [&](std::int64_t v) { return v * (samples / leaves) + v * (samples % leaves) / leaves; };
  return {bound(leaf), bound(leaf + 1)};
}

std::vector<LeafRange> maximal_subtrees(int leaves, LeafRange run) {
  require(leaves >= 1 && leaves <= kMaxLeaves, "maximal_subtrees: leaves out of range");
  require(run.begin >= 0 && run.begin < run.end && run.end <= leaves, "maximal_subtrees: run out of range");
  std::vector<LeafRange> found;
  collect_maximal({0, leaves}, run, found);
  return found;
}

LocalSchedule local_schedule(int leaves, LeafRange run) {
  LocalSchedule schedule;
  SlotPool pool;
  for (const LeafRange& subtree : maximal_subtrees(leaves, run)) {
    const int slot = schedule_node(subtree, pool, schedule.steps);
    schedule.results.push_back({subtree, slot});
  }
  schedule.slots = pool.size();
  return schedule;
}

CombineSchedule combine_schedule(int leaves, int world) {
  CombineSchedule schedule;
  for (int rank = 0; rank < world; ++rank) {
    schedule.first_input.push_back(static_cast<int>(schedule.inputs.size()));
    for (const LeafRange& subtree : maximal_subtrees(leaves, leaves_of_rank(rank, world, leaves)))
      schedule.inputs.push_back(subtree);
  }
  schedule.first_input.push_back(static_cast<int>(schedule.inputs.size()));
  int next = 0;
  combine_node({0, leaves}, schedule, next);
  return schedule;
}

}  // namespace stoker::comm
