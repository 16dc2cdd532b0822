#include "lib/comm/watchdog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

namespace stoker::comm {
namespace {

Observation three_ranks() {
  Observation o;
  o.rank = 0;
  o.hosts = {"alpha", "beta", "gamma"};
  o.silent = {0, 0, 0};
  o.missing = {0, 0, 0};
  o.pulses.resize(3);
  for (Pulse& pulse : o.pulses) {
    pulse.step = 41;
    pulse.collectives = 10;
    std::strcpy(pulse.activity, "all-reduce");
  }
  return o;
}

constexpr WatchdogOptions kOptions{10, 100};

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Diagnose, HopeWhileNothingIsDue) {
  Observation o = three_ranks();
  EXPECT_FALSE(diagnose(o, kOptions));
  o.silent = {0, 50, 0};  // silent, but this rank waits for nobody
  EXPECT_FALSE(diagnose(o, kOptions));
  o.waited = 9;
  EXPECT_FALSE(diagnose(o, kOptions));
  o.silent = {0, 9, 0};
  o.waited = 50;  // waits long, but all live: the others may be computing
  EXPECT_FALSE(diagnose(o, kOptions));
}

TEST(Diagnose, NamesTheSilentRank) {
  Observation o = three_ranks();
  o.waited = 11;
  o.silent = {0, 1, 10.5};
  o.pulses[2].step = 40;
  std::strcpy(o.pulses[2].activity, "backward pass");
  const std::string line = diagnose(o, kOptions).value();
  EXPECT_TRUE(contains(line, "no sign of life from rank 2 (gamma), last heard of")) << line;
  EXPECT_TRUE(contains(line, "step 40, backward pass")) << line;
  EXPECT_TRUE(contains(line, "rank 1 (beta) in step 41, all-reduce")) << line;
  EXPECT_TRUE(contains(line, "run the job again")) << line;
}

TEST(Diagnose, NamesTheRankThatDidNotCome) {
  Observation o = three_ranks();
  o.waited = 100;
  o.pulses[1].collectives = 9;
  std::strcpy(o.pulses[1].activity, "reading input");
  const std::string line = diagnose(o, kOptions).value();
  EXPECT_TRUE(contains(line, "rank 1 (beta) in step 41, reading input did not come")) << line;
}

TEST(Diagnose, NamesTheLostMessage) {
  Observation o = three_ranks();
  o.waited = 100;
  o.missing[2] = 1;
  const std::string line = diagnose(o, kOptions).value();
  EXPECT_TRUE(contains(line, "waits for the message of rank 2 (gamma)")) << line;
}

TEST(Diagnose, ManyRanksAreNotAllNamed) {
  Observation o;
  o.rank = 0;
  o.waited = 20;
  for (int r = 0; r < 100; ++r) {
    o.hosts.push_back("node" + std::to_string(r));
    o.silent.push_back(r == 0 ? 0 : 20);
    o.missing.push_back(0);
    o.pulses.emplace_back();
  }
  const std::string line = diagnose(o, kOptions).value();
  EXPECT_TRUE(contains(line, "91 more")) << line;
  EXPECT_LT(line.size(), 1500U);
}

// The thread itself, with peers that are only entries in the table.
class WatchdogThread : public testing::Test {
 protected:
  // Runs for `seconds`, beating for rank 1 meanwhile if asked; true if the job was ended.
  bool ended_within(double seconds, bool rank1_lives, bool waiting) {
    PeerTable table(0, 2);
    const std::vector<std::string> hosts{"alpha", "beta"};
    table.set_activity(5, "all-reduce");
    std::atomic<bool> ended{false};
    if (waiting) table.enter_wait();
    Watchdog watchdog(
        table, hosts, {0.4, 50}, [] {}, [&](int code) { ended = code == 1; });
    Pulse pulse;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!ended && std::chrono::steady_clock::now() < end) {
      ++pulse.beats;
      if (rank1_lives) table.update(1, pulse);
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return ended;
  }
};

TEST_F(WatchdogThread, EndsTheJobForASilentRank) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(ended_within(20, false, true));
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(text, "stoker: error: no sign of life from rank 1 (beta)")) << text;
}

TEST_F(WatchdogThread, LeavesALivingRankItsTime) { EXPECT_FALSE(ended_within(1.2, true, true)); }

TEST_F(WatchdogThread, MindsNobodyWhileThisRankComputes) { EXPECT_FALSE(ended_within(1.2, false, false)); }

}  // namespace
}  // namespace stoker::comm
