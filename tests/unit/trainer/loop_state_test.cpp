#include "trainer/loop_state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lib/base/error.h"

namespace stoker::trainer {
namespace {

TEST(LoopState, ComesBackBitForBit) {
  LoopState s;
  s.step = 123;
  s.epoch = 4;
  s.position = 96;
  s.validation_due = true;
  s.since_line = {7, 0.1 + 0.2, {1.0 / 3, std::numeric_limits<double>::quiet_NaN()}};
  s.of_epoch = {70, std::numeric_limits<double>::infinity(), {5e-324, -0.0}};
  s.best_loss = 0.30000000000000004;
  s.best_step = 100;
  s.metrics_bytes = 1ull << 40;
  s.seconds = 12.5;
  const LoopState t = loop_state_from_json(nlohmann::json::parse(to_json(s).dump()), "test");
  EXPECT_EQ(t.step, s.step);
  EXPECT_EQ(t.epoch, s.epoch);
  EXPECT_EQ(t.position, s.position);
  EXPECT_TRUE(t.validation_due);
  EXPECT_EQ(t.since_line.loss, s.since_line.loss);
  EXPECT_EQ(t.since_line.metrics[0], s.since_line.metrics[0]);
  EXPECT_TRUE(std::isnan(t.since_line.metrics[1]));
  EXPECT_EQ(t.of_epoch.loss, s.of_epoch.loss);
  EXPECT_EQ(t.of_epoch.metrics[0], 5e-324);
  EXPECT_TRUE(std::signbit(t.of_epoch.metrics[1]));
  EXPECT_EQ(t.best_loss, s.best_loss);
  EXPECT_EQ(t.metrics_bytes, s.metrics_bytes);
}

TEST(LoopState, AnotherDocumentIsRefused) {
  nlohmann::json j = to_json(LoopState{});
  j.erase("position");
  EXPECT_THROW(loop_state_from_json(j, "test"), UserError);
  EXPECT_THROW(loop_state_from_json(nlohmann::json(), "test"), UserError);
  j = to_json(LoopState{});
  j["step"] = "seven";
  EXPECT_THROW(loop_state_from_json(j, "test"), UserError);
}

}  // namespace
}  // namespace stoker::trainer
