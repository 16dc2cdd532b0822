#include "lib/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace {

using stoker::data::Sampler;

std::vector<std::int64_t> order(const Sampler& sampler, std::int64_t epoch) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(sampler.samples()));
  sampler.indices(epoch, 0, all);
  return all;
}

// Sum of (observed − expected)²/expected over the cells.
double chi_square(const std::vector<std::int64_t>& counts, double expected) {
  double sum = 0;
  for (const std::int64_t count : counts) sum += (count - expected) * (count - expected) / expected;
  return sum;
}

// Five standard deviations above the mean of a chi-square of so many degrees of freedom. The numbers are
// fixed by the seed, so a test either always passes or always fails.
double bound(double freedom) { return freedom + 5 * std::sqrt(2 * freedom); }

TEST(Sampler, EveryEpochHasEverySampleOnce) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 1437, 60000})
    for (const std::int64_t epoch : {0, 1, 77}) {
      std::vector<std::int64_t> all = order(Sampler(n, 42, true), epoch);
      std::sort(all.begin(), all.end());
      for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(all[static_cast<std::size_t>(i)], i) << n;
    }
}

TEST(Sampler, AnyPieceOfAnEpochIsThatPieceOfTheWhole) {
  const Sampler sampler(1000, 7, true);
  const std::vector<std::int64_t> all = order(sampler, 3);
  std::vector<std::int64_t> piece(17);
  for (const std::int64_t position : {0, 1, 500, 983}) {
    sampler.indices(3, position, piece);
    EXPECT_TRUE(std::equal(piece.begin(), piece.end(), all.begin() + position));
  }
}

TEST(Sampler, WithoutShufflingInOrder) {
  std::vector<std::int64_t> expected(100);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order(Sampler(100, 1, false), 5), expected);
}

TEST(Sampler, StepsPerEpochCountTheRaggedBatch) {
  EXPECT_EQ(Sampler(100, 0, true).steps_per_epoch(32), 4);
  EXPECT_EQ(Sampler(96, 0, true).steps_per_epoch(32), 3);
  EXPECT_EQ(Sampler(1, 0, true).steps_per_epoch(32), 1);
}

TEST(Sampler, SeedsAndEpochsDiffer) {
  EXPECT_NE(order(Sampler(100, 1, true), 0), order(Sampler(100, 2, true), 0));
  EXPECT_NE(order(Sampler(100, 1, true), 0), order(Sampler(100, 1, true), 1));
}

// The order is part of what a resumed run relies on: a change of it must be meant.
TEST(Sampler, OrderIsFixed) {
  std::vector<std::int64_t> first(6);
  Sampler(1437, 0, true).indices(0, 0, first);
  EXPECT_EQ(first, (std::vector<std::int64_t>{536, 789, 806, 473, 412, 821}));
}

TEST(Sampler, EveryOrderOfFewSamplesIsEquallyFrequent) {
  for (const std::int64_t n : {2, 3, 4, 5}) {
    std::int64_t orders = 1;
    for (std::int64_t i = 2; i <= n; ++i) orders *= i;
    std::map<std::vector<std::int64_t>, std::int64_t> seen;
    const std::int64_t epochs = 100 * orders;
    const Sampler sampler(n, 5, true);
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) ++seen[order(sampler, epoch)];
    std::vector<std::int64_t> counts;
    for (const auto& [key, count] : seen) counts.push_back(count);
    EXPECT_EQ(static_cast<std::int64_t>(counts.size()), orders);
    EXPECT_LT(chi_square(counts, 100), bound(static_cast<double>(orders - 1))) << n;
  }
}

TEST(Sampler, SamplesAreUniformOverPositions) {
  for (const std::int64_t n : {37, 300}) {
    const std::int64_t epochs = 25 * n;
    const Sampler sampler(n, 11, true);
    std::vector<std::int64_t> counts(static_cast<std::size_t>(n * n));
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
      const std::vector<std::int64_t> all = order(sampler, epoch);
      for (std::size_t i = 0; i < all.size(); ++i)
        ++counts[i * all.size() + static_cast<std::size_t>(all[i])];
    }
    EXPECT_LT(chi_square(counts, 25), bound(static_cast<double>((n - 1) * (n - 1)))) << n;
  }
}

// Where sample a is followed by sample b, over all pairs; and where position p has a in one epoch and b in
// the next.
TEST(Sampler, NeighboursAndEpochsAreIndependent) {
  constexpr std::int64_t kSamples = 29, kEpochs = 5000;
  const Sampler sampler(kSamples, 13, true);
  std::vector<std::int64_t> follows(kSamples * kSamples), next_epoch(kSamples * kSamples);
  std::vector<std::int64_t> last = order(sampler, 0);
  for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    const std::vector<std::int64_t> all = order(sampler, epoch);
    for (std::size_t i = 0; i + 1 < all.size(); ++i)
      ++follows[static_cast<std::size_t>(all[i] * kSamples + all[i + 1])];
    for (std::size_t i = 0; i < all.size(); ++i)
      ++next_epoch[static_cast<std::size_t>(last[i] * kSamples + all[i])];
    last = all;
  }
  std::vector<std::int64_t> pairs;  // a sample never follows itself
  for (std::int64_t i = 0; i < kSamples * kSamples; ++i)
    if (i / kSamples != i % kSamples) pairs.push_back(follows[static_cast<std::size_t>(i)]);
  EXPECT_LT(chi_square(pairs, double{kEpochs} / kSamples), bound(kSamples * (kSamples - 1)));
  EXPECT_LT(chi_square(next_epoch, double{kEpochs} / kSamples), bound((kSamples - 1) * (kSamples - 1)));
}

TEST(Sampler, LargeNumbersOfSamples) {
  const std::int64_t n = (std::int64_t{1} << 40) + 12345;
  std::vector<std::int64_t> some(1000);
  Sampler(n, 3, true).indices(2, n - 1000, some);
  std::sort(some.begin(), some.end());
  EXPECT_TRUE(std::adjacent_find(some.begin(), some.end()) == some.end());
  EXPECT_GE(some.front(), 0);
  EXPECT_LT(some.back(), n);
  EXPECT_GT(some[500], n / 3);
  EXPECT_LT(some[500], n / 3 * 2);
}

}  // namespace
