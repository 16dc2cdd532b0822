// The tree of leaf_tree.h against the plain recursion, bit by bit, for every V up to 64 and every N up to V.
#include "lib/comm/leaf_tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "lib/comm/self_communicator.h"

namespace stoker::comm {
namespace {

std::vector<float> random_values(int count, unsigned seed) {
  std::mt19937 generator(seed);
  // Magnitudes over many decades, so that another order of additions almost surely shows.
  std::normal_distribution<float> mantissa;
  std::uniform_real_distribution<float> exponent(-6, 6);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = mantissa(generator) * std::pow(10.0F, exponent(generator));
  return values;
}

float plain_sum(const std::vector<float>& leaf, int lo, int hi) {
  if (hi - lo == 1) return leaf[static_cast<std::size_t>(lo)];
  const int mid = (lo + hi) / 2;
  return plain_sum(leaf, lo, mid) + plain_sum(leaf, mid, hi);
}

float run_schedules(const std::vector<float>& leaf, int world) {
  const int leaves = static_cast<int>(leaf.size());
  const CombineSchedule combine = combine_schedule(leaves, world);
  std::vector<float> inputs;
  for (int rank = 0; rank < world; ++rank) {
    EXPECT_EQ(combine.first_input[static_cast<std::size_t>(rank)], static_cast<int>(inputs.size()));
    const LocalSchedule local = local_schedule(leaves, leaves_of_rank(rank, world, leaves));
    // What is never written must never be read.
    std::vector<float> slots(static_cast<std::size_t>(local.slots), std::nanf(""));
    for (const auto& step : local.steps) {
      slots.at(static_cast<std::size_t>(step.slot)) = leaf[static_cast<std::size_t>(step.leaf)];
      for (const Merge& merge : step.merges)
        slots.at(static_cast<std::size_t>(merge.into)) += slots.at(static_cast<std::size_t>(merge.from));
    }
    for (const auto& result : local.results) {
      EXPECT_EQ(combine.inputs.at(inputs.size()), result.subtree);
      inputs.push_back(slots.at(static_cast<std::size_t>(result.slot)));
    }
  }
  EXPECT_EQ(combine.first_input.back(), static_cast<int>(inputs.size()));
  EXPECT_EQ(combine.inputs.size(), inputs.size());
  for (const Merge& merge : combine.merges)
    inputs.at(static_cast<std::size_t>(merge.into)) += inputs.at(static_cast<std::size_t>(merge.from));
  return inputs[0];
}

TEST(LeafTree, SumOverAnyNumberOfRanksIsThePlainRecursion) {
  for (int leaves = 1; leaves <= 64; ++leaves) {
    for (unsigned seed = 0; seed < 3; ++seed) {
      const std::vector<float> leaf = random_values(leaves, seed * 100 + static_cast<unsigned>(leaves));
      const float expected = plain_sum(leaf, 0, leaves);
      for (int world = 1; world <= leaves; ++world)
        ASSERT_EQ(run_schedules(leaf, world), expected) << leaves << ' ' << world;
    }
  }
}

TEST(LeafTree, RunsOfRanksCoverTheLeavesInOrder) {
  for (int leaves = 1; leaves <= 64; ++leaves) {
    for (int world = 1; world <= leaves; ++world) {
      int next = 0;
      for (int rank = 0; rank < world; ++rank) {
        const LeafRange run = leaves_of_rank(rank, world, leaves);
        ASSERT_EQ(run.begin, next);
        ASSERT_GT(run.size(), 0);
        next = run.end;
        const LocalSchedule local = local_schedule(leaves, run);
        ASSERT_EQ(static_cast<int>(local.steps.size()), run.size());
        for (int i = 0; i < run.size(); ++i)
          ASSERT_EQ(local.steps[static_cast<std::size_t>(i)].leaf, run.begin + i);
        ASSERT_EQ(local.results[0].slot, 0);
        ASSERT_LE(static_cast<int>(local.results.size()), kMaxSubtrees);
        ASSERT_LE(local.slots,
                  static_cast<int>(local.results.size()) + static_cast<int>(std::ceil(std::log2(leaves))));
      }
      ASSERT_EQ(next, leaves);
    }
  }
}

TEST(LeafTree, SubtreesAreMaximal) {
  // V = 12: 0..12 → 0..6, 6..12 → 0..3, 3..6, … → 0..1, 1..3, …
  EXPECT_EQ(maximal_subtrees(12, {0, 12}), (std::vector<LeafRange>{{0, 12}}));
  EXPECT_EQ(maximal_subtrees(12, {0, 6}), (std::vector<LeafRange>{{0, 6}}));
  EXPECT_EQ(maximal_subtrees(12, {0, 4}), (std::vector<LeafRange>{{0, 3}, {3, 4}}));
  EXPECT_EQ(maximal_subtrees(12, {2, 4}), (std::vector<LeafRange>{{2, 3}, {3, 4}}));
  EXPECT_EQ(maximal_subtrees(12, {4, 8}), (std::vector<LeafRange>{{4, 6}, {6, 7}, {7, 8}}));
  EXPECT_EQ(maximal_subtrees(8, {4, 8}), (std::vector<LeafRange>{{4, 8}}));
}

TEST(LeafTree, OneRunNeedsFewSlots) {
  EXPECT_EQ(local_schedule(1, {0, 1}).slots, 1);
  EXPECT_EQ(local_schedule(2, {0, 2}).slots, 2);
  EXPECT_EQ(local_schedule(8, {0, 8}).slots, 4);
  EXPECT_EQ(local_schedule(8, {0, 4}).slots, 3);
}

TEST(LeafTree, SamplesOfLeavesCoverTheBatch) {
  for (const std::int64_t samples :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, std::int64_t{64}, std::int64_t{1} << 62}) {
    for (const int leaves : {1, 3, 8, 12, 1 << 20}) {
      std::int64_t next = 0;
      const int stride = leaves > 1000 ? leaves / 7 : 1;
      for (int leaf = 0; leaf < leaves; leaf += stride) {
        const SampleRange range = samples_of_leaf(leaf, leaves, samples);
        if (stride == 1) {
          ASSERT_EQ(range.begin, next);
        }
        ASSERT_GE(range.size(), samples / leaves);
        ASSERT_LE(range.size(), samples / leaves + 1);
        next = range.end;
      }
      ASSERT_EQ(samples_of_leaf(leaves - 1, leaves, samples).end, samples);
    }
  }
  EXPECT_EQ(samples_of_leaf(1, 8, 5), (SampleRange{0, 1}));
  EXPECT_EQ(samples_of_leaf(0, 8, 5), (SampleRange{0, 0}));
}

TEST(LeafTree, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(leaves_of_rank(0, 3, 2), std::invalid_argument);
  EXPECT_THROW(leaves_of_rank(2, 2, 2), std::invalid_argument);
  EXPECT_THROW(leaves_of_rank(0, 1, 0), std::invalid_argument);
  EXPECT_THROW(samples_of_leaf(2, 2, 10), std::invalid_argument);
  EXPECT_THROW(samples_of_leaf(0, 2, -1), std::invalid_argument);
  EXPECT_THROW(maximal_subtrees(4, {2, 2}), std::invalid_argument);
}

TEST(SelfCommunicator, SumIsTheOneSubtree) {
  SelfCommunicator self;
  self.prepare_sums(8, SumMode::tree);
  std::vector<float> values = random_values(100, 7), output(100);
  float* const subtree = values.data();
  self.begin_sum({{&subtree, 1}, output.data(), 100});
  self.begin_sum({{&subtree, 1}, values.data(), 100});  // in place
  self.wait_all();
  EXPECT_EQ(output, random_values(100, 7));
  EXPECT_EQ(values, output);
  EXPECT_EQ(self.counters().requests, 2);
  float* const two[] = {subtree, subtree};
  EXPECT_THROW(self.begin_sum({two, values.data(), 1}), std::invalid_argument);
}

TEST(SelfCommunicator, SmallThings) {
  SelfCommunicator self;
  std::int64_t integers[] = {3, -4};
  self.reduce(integers, ReduceOperation::sum);
  EXPECT_EQ(integers[1], -4);
  double reals[] = {0.5};
  self.reduce(reals, ReduceOperation::minimum);
  EXPECT_EQ(reals[0], 0.5);
  EXPECT_EQ(self.broadcast_string("text", 0), "text");
  EXPECT_EQ(self.all_gather_record(42), std::vector<int>{42});
  EXPECT_EQ(self.hosts().size(), 1U);
  EXPECT_EQ(self.finish(75), 75);
  EXPECT_EXIT(self.abort(3), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace stoker::comm
