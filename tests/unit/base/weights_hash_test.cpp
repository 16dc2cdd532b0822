#include "lib/base/weights_hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace stoker {
namespace {

std::string hash_of(const std::string& name, const std::vector<std::int64_t>& dims,
                    const std::vector<float>& data) {
  WeightsHash hash;
  hash.add(name, dims, data.data(), data.size() * sizeof(float));
  return hash.hex();
}

TEST(WeightsHash, DependsOnNameShapeAndValuesAndOnNothingElse) {
  const std::string hash = hash_of("dense/kernel", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(hash.size(), 32u);
  EXPECT_EQ(hash, hash_of("dense/kernel", {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_NE(hash, hash_of("dense/kernek", {2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_NE(hash, hash_of("dense/kernel", {3, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_NE(hash, hash_of("dense/kernel", {2, 3}, {1, 2, 3, 4, 5, -6}));
}

TEST(WeightsHash, DependsOnTheOrderOfTheWeights) {
  const std::int64_t dims[] = {1};
  const float one = 1, two = 2;
  WeightsHash ab, ba;
  ab.add("a", dims, &one, sizeof one);
  ab.add("b", dims, &two, sizeof two);
  ba.add("b", dims, &two, sizeof two);
  ba.add("a", dims, &one, sizeof one);
  EXPECT_NE(ab.hex(), ba.hex());
}

TEST(Hash64, InPiecesIsTheSameAsAtOnce) {
  std::vector<unsigned char> bytes(100'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(i * i >> 3);
  Hash64 hash;
  for (std::size_t at = 0; at < bytes.size(); at += 777)
    hash.update(bytes.data() + at, std::min<std::size_t>(777, bytes.size() - at));
  EXPECT_EQ(hash.value(), hash64(bytes.data(), bytes.size()));
}

}  // namespace
}  // namespace stoker
