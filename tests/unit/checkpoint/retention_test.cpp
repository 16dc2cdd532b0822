#include "lib/base/files.h"
#include "tests/unit/checkpoint/checkpoint_fixture.h"

namespace stoker::checkpoint {
namespace {

using Steps = std::vector<std::int64_t>;

TEST(Retention, KeepsTheNewestByNumber) {
  const TestFolder folder;
  TestRun run(folder.path(), 2, 3);
  for (const std::int64_t step :
       {99'999'998, 99'999'999, 100'000'000, 100'000'001})  // a digit more, sorts first by name
    ASSERT_EQ(run.save(step), SaveState::committed);
  EXPECT_EQ(complete_steps(folder.path()), Steps({100'000'001, 100'000'000, 99'999'999}));
  EXPECT_FALSE(path_exists(folder / "step-99999998"));
}

TEST(Retention, NeverTheBestNorTheOneResumedFrom) {
  const TestFolder folder;
  {
    TestRun first(folder.path(), 1, 0);
    for (const std::int64_t step : {1, 2, 3}) first.save(step);
  }
  TestRun run(folder.path(), 1, 1, 2, /*resumed_from=*/3);
  run[0].mark_best(2);
  for (const std::int64_t step : {4, 5, 6}) ASSERT_EQ(run.save(step), SaveState::committed);
  EXPECT_EQ(complete_steps(folder.path()), Steps({6, 3, 2}));
}

TEST(Retention, ZeroKeepsAll) {
  const TestFolder folder;
  TestRun run(folder.path(), 1, 0);
  for (const std::int64_t step : {1, 2, 3, 4, 5}) run.save(step);
  EXPECT_EQ(complete_steps(folder.path()).size(), 5u);
}

TEST(Retention, StrangersFilesStay) {
  const TestFolder folder;
  TestRun run(folder.path(), 1, 1);
  run.save(1);
  write_file_atomically(folder / "notes.txt", "mine");
  write_file_atomically(folder / "step-00000001/notes.txt", "mine");
  std::filesystem::create_directories(folder / "step-1");
  write_file_atomically(folder / "step-00000000", "a file, no folder");
  run.save(2);
  run.save(3);
  EXPECT_EQ(complete_steps(folder.path()), Steps({3}));
  EXPECT_EQ(read_file(folder / "notes.txt"), "mine");
  EXPECT_EQ(read_file(folder / "step-00000001/notes.txt"), "mine");
  EXPECT_TRUE(is_directory(folder / "step-1"));
  EXPECT_TRUE(path_exists(folder / "step-00000000"));
  EXPECT_FALSE(path_exists(folder / "step-00000002"));
}

TEST(Retention, LeftoversOfCrashesGo) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "step-00000001");
  write_file_atomically(folder / "step-00000001/shard-00000-of-00002.h5", "of a save that was interrupted");
  write_file_atomically(folder / "latest.tmp.4711", "");
  TestRun run(folder.path(), 1, 3);
  run.save(2);
  EXPECT_FALSE(path_exists(folder / "step-00000001"));
  EXPECT_FALSE(path_exists(folder / "latest.tmp.4711"));
}

TEST(Retention, GoingBackSetsTheAbandonedFutureAside) {
  const TestFolder folder;
  {
    TestRun first(folder.path(), 1, 0);
    for (const std::int64_t step : {10, 20, 30}) first.save(step);
  }
  std::filesystem::create_directories(folder / "step-00000040");  // a save that was interrupted
  TestRun run(folder.path(), 1, 1, 2, /*resumed_from=*/10);
  ASSERT_EQ(run.save(15), SaveState::committed);
  EXPECT_EQ(run.message(), "");
  EXPECT_EQ(complete_steps(folder.path()), Steps({15, 10}));
  EXPECT_EQ(find_newest_good(folder.path()).good->step, 15);
  EXPECT_EQ(verify(folder / "superseded-step-00000030"), std::vector<std::string>());
  EXPECT_TRUE(is_directory(folder / "superseded-step-00000020"));
  EXPECT_FALSE(path_exists(folder / "step-00000040"));
  ASSERT_EQ(run.save(25), SaveState::committed);
  EXPECT_EQ(find_newest_good(folder.path()).good->step, 25);
}

}  // namespace
}  // namespace stoker::checkpoint
