#include "lib/comm/start_alarm.h"

#include <gtest/gtest.h>

#include <chrono>

namespace stoker::comm {
namespace {

TEST(StartAlarmDeathTest, EndsAProcessThatWaitsForEver) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const StartAlarm alarm(0.05, 0);
        std::this_thread::sleep_for(std::chrono::seconds(20));
      },
      testing::ExitedWithCode(1), "stoker: error: the ranks did not find each other within 0.05 s");
}

TEST(StartAlarm, IsSilentOnceDisarmed) {
  StartAlarm alarm(0.05, 0);
  alarm.disarm();
  const StartAlarm off(0, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
}

}  // namespace
}  // namespace stoker::comm
