#include "lib/checkpoint/layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/base/error.h"
#include "lib/checkpoint/hdf5_layout.h"

namespace stoker::checkpoint {
namespace {

TEST(Names, StepDirectories) {
  EXPECT_EQ(step_directory_name(1000), "step-00001000");
  EXPECT_EQ(step_directory_name(123456789012), "step-123456789012");
  for (const std::int64_t step :
       {std::int64_t{0}, std::int64_t{7}, std::int64_t{99999999}, std::int64_t{100000000}})
    EXPECT_EQ(parse_step_directory(step_directory_name(step)), step);
  for (const char* name :
       {"step-1000", "step-000001000", "step-", "step-0000100x", "step--0001000", "my-step-00001000",
        "superseded-step-00001000", "step-99999999999999999999", "latest"})
    EXPECT_FALSE(parse_step_directory(name)) << name;
}

TEST(Names, Shards) {
  EXPECT_EQ(shard_name(0, 2), "shard-00000-of-00002.h5");
  EXPECT_EQ(shard_name(1, 2, 3), "shard-00001-of-00002-3.h5");
  EXPECT_TRUE(is_shard_name(shard_name(0, 2)));
  EXPECT_TRUE(is_shard_name(shard_name(123456, 200000, 11)));
  for (const char* name : {"shard-0-of-2.h5.bak", "shard-.h5", "shard-00000-of-.h5",
                           "shard-00000-of-00002-.h5", "../shard-00000-of-00002.h5", "manifest.h5"})
    EXPECT_FALSE(is_shard_name(name)) << name;
  EXPECT_TRUE(is_temporary_name(temporary_name("manifest.h5")));
  EXPECT_TRUE(is_temporary_name(temporary_name(shard_name(1, 2))));
  EXPECT_FALSE(is_temporary_name("notes.tmp"));
}

TEST(Slices, SplitAllElementsEvenly) {
  const std::vector<TensorInfo> tensors = {
      {"a", Shape{10}}, {"e", Shape{0}}, {"s", Shape{}}, {"b", Shape{4, 5}}};
  for (const int ranks : {1, 2, 3, 7, 31, 64}) {
    std::vector<std::int64_t> covered(tensors.size(), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      std::int64_t elements = 0;
      for (const Slice& slice : slices_of_rank(tensors, rank, ranks)) {
        EXPECT_EQ(slice.begin, covered[slice.tensor]);
        covered[slice.tensor] = slice.end;
        elements += slice.elements();
      }
      EXPECT_LE(std::abs(elements * ranks - 31), ranks - 1) << ranks;
    }
    EXPECT_EQ(covered, std::vector<std::int64_t>({10, 0, 1, 20}));
  }
}

TEST(Slices, HugeTensorsDoNotOverflow) {
  const std::vector<TensorInfo> tensors = {{"a", Shape{std::int64_t{1} << 31, std::int64_t{1} << 25}}};
  const std::int64_t total = tensors[0].elements();
  EXPECT_EQ(slices_of_rank(tensors, 99'999, 100'000).back().end, total);
  EXPECT_EQ(slices_of_rank(tensors, 50'000, 100'000).front().begin, total / 2);
}

Index small_index() {
  Index index;
  index.step = 5;
  index.attempt = 0xFFFFFFFFFFFFFFFFull;
  index.save = 2;
  index.tensors = {{"a/b", Shape{3, 2}, DType::f64}, {"n", Shape{}, DType::i64}};
  index.shards = {
      {shard_name(0, 2), 4096, "d0", {{0, 0, 3, 2048, 17}}},
      {shard_name(1, 2), 4096, "d1", {{0, 3, 6, 2048, 0xFEDCBA9876543210ull}, {1, 0, 1, 2072, 0}}}};
  return index;
}

TEST(Index, JsonRoundTrip) {
  const Index index = small_index();
  const Index back = index_from_json(nlohmann::json::parse(to_json(index).dump()), "here");
  EXPECT_EQ(back.step, 5);
  EXPECT_EQ(back.attempt, index.attempt);
  EXPECT_EQ(back.save, 2u);
  EXPECT_EQ(back.tensors, index.tensors);
  ASSERT_EQ(back.shards.size(), 2u);
  EXPECT_EQ(back.shards[1].slices, index.shards[1].slices);
  EXPECT_EQ(back.shards[1].digest, "d1");
}

TEST(Index, RefusesWhatDescribesNoCheckpoint) {
  const auto refuses = [](const auto& change) {
    nlohmann::json document = to_json(small_index());
    change(document);
    EXPECT_THROW(index_from_json(document, "here"), UserError) << document.dump();
  };
  refuses([](auto& d) { d = nlohmann::json::array(); });
  refuses([](auto& d) { d["format"] = "other"; });
  refuses([](auto& d) { d["version"] = 2; });
  refuses([](auto& d) { d.erase("tensors"); });
  refuses([](auto& d) { d["tensors"][0]["shape"] = {-1}; });
  refuses([](auto& d) { d["tensors"][0]["shape"] = {1ll << 40, 1ll << 40}; });
  refuses([](auto& d) { d["tensors"][0]["dtype"] = "complex64"; });
  refuses([](auto& d) { d["shards"][0]["file"] = "../shard-00000-of-00002.h5"; });
  refuses([](auto& d) { d["shards"][0]["slices"][0]["end"] = 2; });  // a gap
  refuses([](auto& d) { d["shards"][0]["slices"][0]["end"] = 4; });  // an overlap
  refuses([](auto& d) { d["shards"][1]["slices"].erase(1); });       // a tensor without data
  refuses([](auto& d) { d["shards"][0]["slices"][0]["tensor"] = 2; });
  refuses([](auto& d) { d["shards"][0]["slices"][0]["offset"] = 4090; });  // beyond the file
  refuses([](auto& d) { d["shards"][0]["slices"][0]["checksum"] = "xyz"; });
}

TEST(ExactNumbers, ComeBackAsTheyWere) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.1, -1e-310, kInfinity, -kInfinity, 3.0})
    EXPECT_EQ(exact_double(nlohmann::json::parse(exact_json(value).dump())), value);
  EXPECT_TRUE(std::isnan(exact_double(exact_json(std::nan("")))));
  EXPECT_THROW(exact_double("many"), UserError);
  EXPECT_THROW(exact_double(nullptr), UserError);
}

TEST(Hdf5Layout, StructureIsSmallBesideTheElements) {
  for (const std::size_t datasets : {1u, 10u, 3000u}) {
    Hdf5Layout layout(512, datasets);
    constexpr hsize_t kElements = 10'000'000;
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < datasets; ++i) {
      const std::uint64_t offset =
          layout.add_elements("slices/" + std::to_string(i), kElements, H5T_IEEE_F32LE);
      EXPECT_GE(offset, end);
      end = offset + kElements * 4;
    }
    layout.finish();
    EXPECT_EQ(layout.bytes(), end);
    EXPECT_LT(layout.structure().size(), 16'384 + 1'100 * datasets);
  }
}

}  // namespace
}  // namespace stoker::checkpoint
