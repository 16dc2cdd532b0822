#include "lib/data/augment.h"

#include <gtest/gtest.h>

#include <set>

#include "lib/base/error.h"

namespace {

using stoker::Shape;
using stoker::UserError;
using stoker::data::Augmentation;
using stoker::data::Augmenter;
using stoker::data::parse_augmentation;

// 3×4 pixels of two channels: pixel value 10·row + column, the second channel negative.
std::vector<float> image() {
  std::vector<float> x;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 4; ++column)
      for (const int sign : {1, -1}) x.push_back(static_cast<float>(sign * (10 * row + column + 1)));
  return x;
}

float pixel(const std::vector<float>& x, std::int64_t row, std::int64_t column, std::int64_t channel) {
  if (row < 0 || row >= 3 || column < 0 || column >= 4) return 0;
  return x[static_cast<std::size_t>((row * 4 + column) * 2 + channel)];
}

// The image that a window at (top, left) after the flips gives, computed pixel by pixel.
std::vector<float> expected(bool flip, bool vertical_flip, std::int64_t top, std::int64_t left) {
  std::vector<float> out;
  for (std::int64_t row = 0; row < 3; ++row)
    for (std::int64_t column = 0; column < 4; ++column)
      for (std::int64_t channel = 0; channel < 2; ++channel) {
        const std::int64_t r = row + top, c = column + left;
        const bool outside = r < 0 || r >= 3 || c < 0 || c >= 4;
        out.push_back(outside ? 0 : pixel(image(), vertical_flip ? 2 - r : r, flip ? 3 - c : c, channel));
      }
  return out;
}

TEST(Augment, EveryOutcomeIsAFlippedWindowAndAllOccur) {
  const Augmentation augmentation{true, true, 1};
  std::set<std::vector<float>> possible, seen;
  for (const bool flip : {false, true})
    for (const bool vertical_flip : {false, true})
      for (const std::int64_t top : {-1, 0, 1})
        for (const std::int64_t left : {-1, 0, 1}) possible.insert(expected(flip, vertical_flip, top, left));
  const Augmenter augmenter(augmentation, Shape{3, 4, 2}, 1);
  std::vector<float> scratch;
  for (std::int64_t sample = 0; sample < 600; ++sample) {
    std::vector<float> x = image();
    augmenter.apply(0, sample, x.data(), scratch);
    EXPECT_TRUE(possible.count(x) == 1) << sample;
    seen.insert(x);
  }
  EXPECT_EQ(possible.size(), 36u);
  EXPECT_EQ(seen, possible);
}

TEST(Augment, APureFunctionOfSeedEpochAndSample) {
  const auto result = [](std::uint64_t seed, std::int64_t epoch, std::int64_t sample) {
    std::vector<float> x = image(), scratch;
    Augmenter({true, true, 2}, Shape{3, 4, 2}, seed).apply(epoch, sample, x.data(), scratch);
    return x;
  };
  int differ[3] = {};
  for (std::int64_t sample = 0; sample < 50; ++sample) {
    EXPECT_EQ(result(1, 2, sample), result(1, 2, sample));
    differ[0] += result(1, 2, sample) != result(1, 2, sample + 1);
    differ[1] += result(1, 2, sample) != result(1, 3, sample);
    differ[2] += result(1, 2, sample) != result(2, 2, sample);
  }
  for (const int count : differ) EXPECT_GT(count, 40);
}

TEST(Augment, ImagesWithoutAChannelAxis) {
  std::vector<float> x(12, 1.0f), scratch;
  Augmenter({false, false, 3}, Shape{3, 4}, 1).apply(0, 1, x.data(), scratch);
  for (const float value : x) EXPECT_TRUE(value == 0.0f || value == 1.0f);
}

TEST(Augment, TextBothWays) {
  EXPECT_EQ(parse_augmentation("crop=4,flip"), (Augmentation{true, false, 4}));
  EXPECT_EQ(to_text(parse_augmentation("vflip, flip ,crop=4")), "flip,vflip,crop=4");
  EXPECT_TRUE(parse_augmentation("none").none());
  EXPECT_TRUE(parse_augmentation("").none());
  for (const char* bad :
       {"flop", "crop", "crop=", "crop=0", "crop=-1", "crop=x", "flip,,crop=1", "crop=99999999"})
    EXPECT_THROW(parse_augmentation(bad), UserError) << bad;
}

TEST(Augment, OnlyImages) {
  EXPECT_THROW(Augmenter({true, false, 0}, Shape{10}, 0), UserError);
  EXPECT_NO_THROW(Augmenter({}, Shape{10}, 0));
}

}  // namespace
