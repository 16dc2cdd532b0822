#include "lib/telemetry/step_clock.h"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace stoker::telemetry {
namespace {

struct PhaseName {
  std::string_view text, key;
};
constexpr PhaseName kNames[kPhases] = {
    {"unexplained", "unexplained"},
    {"start-up", "start_up"},
    {"input wait", "input_wait"},
    {"host to device", "host_to_device"},
    {"forward", "forward"},
    {"backward", "backward"},
    {"all-reduce (exposed)", "all_reduce_exposed"},
    {"optimizer", "optimizer"},
    {"checkpoint stall", "checkpoint_stall"},
    {"evaluation", "evaluation"},
    {"logging", "logging"},
};

}  // namespace

std::string_view name_of(Phase phase) { return kNames[static_cast<std::size_t>(phase)].text; }
std::string_view key_of(Phase phase) { return kNames[static_cast<std::size_t>(phase)].key; }

double PhaseTimes::busy() const {
  const PhaseTimes& t = *this;
  const std::int64_t computing = t[Phase::forward] + t[Phase::backward] + t[Phase::optimizer];
  return wall_ns > 0 ? static_cast<double>(computing) / static_cast<double>(wall_ns) : 0;
}

PhaseTimes PhaseTimes::since(const PhaseTimes& earlier) const {
  PhaseTimes d = *this;
  for (std::size_t i = 0; i < kPhases; ++i) d.ns[i] -= earlier.ns[i];
  d.wall_ns -= earlier.wall_ns;
  d.hidden_all_reduce_ns -= earlier.hidden_all_reduce_ns;
  d.straggler_ns -= earlier.straggler_ns;
  return d;
}

std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

StepClock::StepClock() : last_(monotonic_ns()) { open_[0] = Phase::start_up; }

void StepClock::end_start_up() {
  charge();
  open_[0] = Phase::unexplained;
}

void StepClock::enter(Phase phase) {
  charge();
  const Phase around = open_[std::min(depth_, kDepth - 1)];
  ++depth_;
  // Deeper than the stack, the innermost recorded phase goes on.
  if (depth_ < kDepth) open_[depth_] = around == Phase::evaluation ? around : phase;
}

void StepClock::leave() {
  charge();
  --depth_;
}

PhaseTimes StepClock::read() {
  charge();
  times_.wall_ns = std::accumulate(times_.ns.begin(), times_.ns.end(), std::int64_t{0});
  return times_;
}

void StepClock::charge() {
  const std::int64_t now = monotonic_ns();
  times_[open_[std::min(depth_, kDepth - 1)]] += now - last_;
  last_ = now;
}

}  // namespace stoker::telemetry
