// A process that saves one checkpoint after another is killed at random moments; what was complete stays
// good.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "lib/base/files.h"
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

// Waits until the child has committed this step, then for up to one and a half times what a save takes: the
// kill may come at any moment of a save, on a machine of any speed.
void wait_for_random_moment(const std::string& directory, std::int64_t step, std::mt19937& random) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const std::string manifest = directory + "/" + step_directory_name(step) + "/" + kManifestName;
  while (!path_exists(manifest) && Clock::now() - start < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  std::this_thread::sleep_for((Clock::now() - start) * std::uniform_real_distribution<>(0, 1.5)(random));
}

TEST(KilledWriter, LeavesTheOlderCheckpointsGood) {
  const TestFolder folder;
  std::mt19937 random(20260101);
  std::int64_t last = 0;
  for (std::uint64_t attempt = 1; attempt <= 25; ++attempt) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(folder.path(), last + 1, attempt);
    wait_for_random_moment(folder.path(), last + 1, random);
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a save failed by itself";

    const Choice choice = find_newest_good(folder.path());
    ASSERT_TRUE(choice.good);
    EXPECT_GT(choice.good->step, last);
    const std::vector<std::int64_t> complete = complete_steps(folder.path());
    for (const std::int64_t step : complete) expect_holds(folder / step_directory_name(step), step);
    last = choice.good->step;
    if (last >= kKeep) {
      EXPECT_GE(complete.size(), static_cast<std::size_t>(kKeep));
    }
  }
}

}  // namespace
}  // namespace stoker::checkpoint
