// A process that saves one checkpoint after another is killed at random moments; what was complete stays good.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "tests/unit/checkpoint/checkpoint_fixture.h"

namespace stoker::checkpoint {
namespace {

constexpr int kKeep = 2;

// Saves first, first + 1, … until it is killed.
[[noreturn]] void save_for_ever(const std::string& directory, std::int64_t first, std::uint64_t attempt) {
  TestRun run(directory, 2, kKeep, attempt);
  for (std::int64_t step = first;; ++step)
    if (run.save(step) != SaveState::committed || !run.message().empty()) ::_exit(1);
}

TEST(KilledWriter, LeavesTheOlderCheckpointsGood) {
  const TestFolder folder;
  std::mt19937 random(20260101);
  std::int64_t last = 0;
  for (std::uint64_t attempt = 1; attempt <= 25; ++attempt) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(folder.path(), last + 1, attempt);
    std::this_thread::sleep_for(
        std::chrono::microseconds(std::uniform_int_distribution<>(1'000, 60'000)(random)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a save failed by itself";

    const Choice choice = find_newest_good(folder.path());
    const std::int64_t newest = choice.good ? choice.good->step : 0;
    EXPECT_GE(newest, last);
    for (const std::int64_t step : complete_steps(folder.path()))
      expect_holds(folder / step_directory_name(step), step);
    if (newest >= kKeep) {
      EXPECT_GE(complete_steps(folder.path()).size(), static_cast<std::size_t>(kKeep));
    }
    last = newest;
  }
  EXPECT_GT(last, 0) << "no save was ever completed: the test has shown nothing";
}

}  // namespace
}  // namespace stoker::checkpoint
