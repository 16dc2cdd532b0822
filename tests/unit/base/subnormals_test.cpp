#include "lib/base/subnormals.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

namespace stoker {
namespace {

constexpr float kSmallest = std::numeric_limits<float>::min();  // normal

// Volatile, so that it is computed when it is called.
float multiplied(float value, float factor) {
  const volatile float operand = value;
  return operand * factor;
}
float halved(float value) { return multiplied(value, 0.5F); }
float doubled(float value) { return multiplied(value, 2.0F); }

#if defined(__x86_64__)
TEST(Subnormals, AreZeroInTheThreadAndThoseItStarts) {
  std::thread([] {
    EXPECT_GT(halved(kSmallest), 0);
    const float subnormal = halved(kSmallest);
    flush_subnormals_to_zero();
    const auto flushed = [&] { return halved(kSmallest) == 0 && doubled(subnormal) == 0; };
    EXPECT_TRUE(flushed());
    bool in_thread = false, in_team = true;
    std::thread([&] { in_thread = flushed(); }).join();
#pragma omp parallel num_threads(3) reduction(&& : in_team)
    in_team = in_team && flushed();
    EXPECT_TRUE(in_thread);
    EXPECT_TRUE(in_team);
  }).join();
}
#endif

}  // namespace
}  // namespace stoker
