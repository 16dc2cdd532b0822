#include "lib/telemetry/report.h"

#include <gtest/gtest.h>

#include "lib/telemetry/progress.h"

namespace stoker::telemetry {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

// 100 s of training after 10 s of start-up, all of it computing but for `seconds` of `phase`.
RankFigures rank_with(Phase phase, std::int64_t seconds) {
  RankFigures rank;
  rank.host = "node1";
  rank.times[Phase::start_up] = 10 * kSecond;
  rank.times[Phase::forward] = (100 - seconds) * kSecond;
  rank.times[phase] += seconds * kSecond;
  rank.times.wall_ns = 110 * kSecond;
  return rank;
}

RunFigures run_of(std::vector<RankFigures> ranks) {
  RunFigures figures;
  figures.ranks = std::move(ranks);
  figures.steps = 1000;
  figures.samples = 64000;
  figures.batch_size = 64;
  figures.compute_threads = figures.cores_available = 2;
  figures.outcome = "done";
  return figures;
}

TEST(Report, BreakdownSumsToTheWallTime) {
  const auto report = report_json(run_of({rank_with(Phase::input_wait, 7), rank_with(Phase::evaluation, 3)}));
  double sum = 0;
  for (const auto& [name, seconds] : report["breakdown"].items()) sum += seconds.get<double>();
  EXPECT_NEAR(sum, report["wall_seconds"].get<double>(), 1e-9);
  EXPECT_DOUBLE_EQ(report["wall_seconds"], 110);
  EXPECT_DOUBLE_EQ(report["samples_per_second"], 640);
  EXPECT_DOUBLE_EQ(report["breakdown"]["input_wait"], 3.5);
  EXPECT_TRUE(report["breakdown"].contains("unexplained"));
  EXPECT_EQ(report["per_rank"].size(), 2u);
}

TEST(Report, AdvisesTheChangeWithTheLargestGain) {
  const auto advice = best_advice(run_of({rank_with(Phase::input_wait, 50)}));
  ASSERT_TRUE(advice);
  EXPECT_NEAR(advice->gain, 1.0, 1e-9);
  EXPECT_NE(advice->text.find("waits 50 % of the time for input"), std::string::npos);
  EXPECT_NE(best_advice(run_of({rank_with(Phase::checkpoint_stall, 20)}))->text.find("--checkpoint-every"),
            std::string::npos);
  EXPECT_NE(best_advice(run_of({rank_with(Phase::all_reduce, 40)}))->text.find("batch of 128 instead of 64"),
            std::string::npos);
  RunFigures idle = run_of({rank_with(Phase::input_wait, 1)});
  idle.cores_available = 8;
  EXPECT_NE(best_advice(idle)->text.find("--threads 8"), std::string::npos);
}

TEST(Report, NamesTheSlowRankAndItsHost) {
  RankFigures waiting = rank_with(Phase::all_reduce, 40), slow = rank_with(Phase::all_reduce, 2);
  waiting.times.straggler_ns = 38 * kSecond;
  slow.host = "node2";
  const auto advice = best_advice(run_of({waiting, slow}));
  ASSERT_TRUE(advice);
  EXPECT_NE(advice->text.find("rank 1 on node2"), std::string::npos);
}

TEST(Report, SaysNothingWhereNothingIsToBeGained) {
  const RunFigures figures = run_of({rank_with(Phase::input_wait, 1)});
  EXPECT_FALSE(best_advice(figures));
  EXPECT_TRUE(report_json(figures)["advice"].is_null());
  EXPECT_NE(report_text(figures).find("99 % of the time"), std::string::npos);
}

TEST(Report, TextHasALineForEachPartAndTheWall) {
  RunFigures figures = run_of({rank_with(Phase::optimizer, 25)});
  figures.bytes_sent = 5 << 20;
  const std::string text = report_text(figures);
  EXPECT_NE(text.find("done: 1000 steps, 64000 samples in 1m50s on 1 rank × 2 threads, 640.0 samples/s"),
            std::string::npos);
  for (const char* name : {"start-up", "forward", "optimizer", "unexplained", "wall time", "5.0 MiB"})
    EXPECT_NE(text.find(name), std::string::npos) << name;
  EXPECT_EQ(text.back(), '\n');
}

TEST(Report, ARunOfNoStepsIsReportedToo) {
  RunFigures figures = run_of({RankFigures{}});
  figures.steps = figures.samples = 0;
  EXPECT_DOUBLE_EQ(report_json(figures)["samples_per_second"], 0);
  EXPECT_FALSE(report_text(figures).empty());
}

TEST(Progress, Line) {
  ProgressFigures f;
  f.step = 120;
  f.total_steps = 938;
  f.epoch = 1;
  f.total_epochs = 3;
  f.loss = 0.43211;
  f.metric = {"accuracy", 0.87654};
  f.samples_per_second = 4123.4;
  f.seconds_left = 125;
  f.device_busy = 0.934;
  EXPECT_EQ(format_progress(f),
            "step 120/938 (12 %), epoch 2/3, loss 0.4321, accuracy 0.8765, 4123 samples/s, "
            "2m05s left, device busy 93 %");
}

TEST(Progress, Durations) {
  EXPECT_EQ(format_duration(4.6), "5s");
  EXPECT_EQ(format_duration(3599.7), "1h00m");
  EXPECT_EQ(format_duration(11220), "3h07m");
  EXPECT_EQ(format_duration(187200), "2d04h");
  EXPECT_EQ(format_duration(-1), "?");
  EXPECT_EQ(format_duration(1e300), "11574074074d01h");
}

TEST(Progress, ComesAtIntervalsAndAtTheEndOfAnEpoch) {
  Progress plain(false), terminal(true);
  EXPECT_TRUE(plain.due(100, false));
  EXPECT_FALSE(plain.due(105, false));
  EXPECT_TRUE(plain.due(105, true));
  EXPECT_FALSE(plain.due(114, false));
  EXPECT_TRUE(plain.due(115, false));
  EXPECT_TRUE(terminal.due(100, false));
  EXPECT_FALSE(terminal.due(100.1, false));
  EXPECT_TRUE(terminal.due(100.3, false));
}

}  // namespace
}  // namespace stoker::telemetry
