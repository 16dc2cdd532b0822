#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/checkpoint/sealed_file.h"
#include "tests/unit/checkpoint/checkpoint_fixture.h"

namespace stoker::checkpoint {
namespace {

void flip_bit(const std::string& path, std::uint64_t byte, int bit) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(byte));
  const char value = static_cast<char>(file.get() ^ (1 << bit));
  file.seekp(static_cast<std::streamoff>(byte));
  file.put(value);
}

// Three checkpoints of two ranks; the newest is to be damaged.
class Corruption : public ::testing::Test {
 protected:
  Corruption() {
    TestRun run(folder_.path(), 2);
    for (const std::int64_t step : {1, 2, 3}) EXPECT_EQ(run.save(step), SaveState::committed);
  }
  std::string newest(const std::string& file) const { return folder_ / ("step-00000003/" + file); }

  void expect_second_newest(const std::string& file_to_be_named) {
    const Choice choice = find_newest_good(folder_.path());
    ASSERT_TRUE(choice.good);
    EXPECT_EQ(choice.good->step, 2);
    ASSERT_EQ(choice.skipped.size(), 1u);
    EXPECT_NE(choice.skipped[0].find(file_to_be_named), std::string::npos) << choice.skipped[0];
    expect_holds(choice.good->path, 2);
  }

  TestFolder folder_;
};

TEST_F(Corruption, EveryFlippedBitIsFound) {
  for (const char* name : {"shard-00000-of-00002.h5", "shard-00001-of-00002.h5", "manifest.h5"}) {
    const std::string path = newest(name);
    const std::uint64_t size = std::filesystem::file_size(path);
    int checked = 0;
    for (std::uint64_t byte = 0; byte < size; byte += byte < kSealBytes ? 5 : 29, ++checked) {
      const int bit = static_cast<int>(byte % 8);
      flip_bit(path, byte, bit);
      const std::vector<std::string> problems = verify(folder_ / "step-00000003");
      ASSERT_FALSE(problems.empty()) << name << " byte " << byte << " bit " << bit;
      EXPECT_NE(problems[0].find(name), std::string::npos) << problems[0];
      flip_bit(path, byte, bit);
    }
    EXPECT_GT(checked, 100);
  }
  expect_holds(folder_ / "step-00000003", 3);
}

TEST_F(Corruption, AFlippedBitInATensorIsNamedByFileTensorAndSlice) {
  const Index index = read_manifest(folder_ / "step-00000003").index;
  const Shard& shard = index.shards[1];
  const Slice& slice = shard.slices.back();
  flip_bit(newest(shard.file), slice.offset + 3, 6);
  const std::vector<std::string> problems = verify(folder_ / "step-00000003");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find(shard.file), std::string::npos);
  EXPECT_NE(problems[0].find("tensor " + index.tensors[slice.tensor].name), std::string::npos) << problems[0];
  EXPECT_NE(problems[0].find("[" + std::to_string(slice.begin) + ", " + std::to_string(slice.end) + ")"),
            std::string::npos);
  TestModel model;
  EXPECT_THROW(load(folder_ / "step-00000003", model.targets()), UserError);
  expect_second_newest(shard.file);
}

TEST_F(Corruption, AMissingShard) {
  std::filesystem::remove(newest("shard-00001-of-00002.h5"));
  const Candidate candidate = list(folder_.path())[0];
  EXPECT_FALSE(candidate.complete);
  EXPECT_NE(candidate.why.find("the file is missing"), std::string::npos);
  EXPECT_NE(verify(candidate.path)[0].find("the file is missing"), std::string::npos);
  expect_second_newest("shard-00001-of-00002.h5");
}

TEST_F(Corruption, AMissingManifest) {
  std::filesystem::remove(newest("manifest.h5"));
  expect_second_newest("the save was interrupted");
}

TEST_F(Corruption, EveryTruncationIsFound) {
  for (const char* name : {"shard-00000-of-00002.h5", "manifest.h5"}) {
    const std::string whole = read_file(newest(name));
    for (std::size_t size = 0; size < whole.size(); size += 97) {
      std::filesystem::resize_file(newest(name), size);
      EXPECT_FALSE(verify(folder_ / "step-00000003").empty()) << name << " " << size;
      std::ofstream(newest(name), std::ios::binary) << whole;
    }
    std::ofstream(newest(name), std::ios::binary) << whole << 'x';
    EXPECT_FALSE(verify(folder_ / "step-00000003").empty()) << "a longer " << name;
    expect_second_newest(name);
    std::ofstream(newest(name), std::ios::binary) << whole;
  }
}

TEST_F(Corruption, AShardOfAnotherStepOrAnotherNumberOfRanks) {
  const std::string name = "shard-00001-of-00002.h5";
  std::filesystem::copy_file(folder_ / ("step-00000002/" + name), newest(name),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(verify(folder_ / "step-00000003")[0].find("belongs to another save (rank 1 of 2, step 2)"),
            std::string::npos);
  const TestFolder other;
  TestRun four(other.path(), 4);
  four.save(3);
  std::filesystem::copy_file(other / "step-00000003/shard-00001-of-00004.h5", newest(name),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(verify(folder_ / "step-00000003")[0].find("belongs to another save (rank 1 of 4, step 3)"),
            std::string::npos);
  expect_second_newest(name);
}

TEST_F(Corruption, ARenamedFolderIsNotThatStep) {
  std::filesystem::rename(folder_ / "step-00000003", folder_ / "step-00000500");
  const Choice choice = find_newest_good(folder_.path());
  EXPECT_EQ(choice.good->step, 2);
  EXPECT_NE(choice.skipped[0].find("holds step 3"), std::string::npos);
}

TEST_F(Corruption, NoGoodOneLeftIsAnErrorAndNoFreshStart) {
  for (const char* step : {"step-00000001", "step-00000002", "step-00000003"})
    std::filesystem::remove(folder_ / (std::string(step) + "/shard-00001-of-00002.h5"));
  try {
    find_newest_good(folder_.path());
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("step-00000003/shard-00001-of-00002.h5"), std::string::npos);
  }
}

TEST(NoCheckpoint, IsAFreshStart) {
  const TestFolder folder;
  EXPECT_FALSE(find_newest_good(folder.path()).good);
  EXPECT_FALSE(find_newest_good(folder / "absent").good);
  std::filesystem::create_directories(folder / "step-00000005");  // a crash in the first save
  const Choice choice = find_newest_good(folder.path());
  EXPECT_FALSE(choice.good);
  EXPECT_EQ(choice.skipped.size(), 1u);
}

TEST(NoCheckpoint, AFolderThatIsNoneIsSaid) {
  const TestFolder folder;
  EXPECT_NE(verify(folder.path())[0].find("manifest.h5"), std::string::npos);
  TestModel model;
  EXPECT_THROW(load(folder.path(), model.targets()), UserError);
}

}  // namespace
}  // namespace stoker::checkpoint
