#include "lib/comm/start_alarm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "lib/base/error.h"
#include "lib/base/log.h"

namespace stoker::comm {

StartAlarm::StartAlarm(double seconds, int rank) {
  if (seconds <= 0) return;
  // mpirun takes up to 2 s to end the ranks that are left after the first one has gone. Ticks are counted,
  // not time: a rank that was stopped itself and is let go on has not waited.
  static constexpr double kTick = 0.05;
  const auto ticks = static_cast<std::int64_t>((seconds + 3.0 * std::min(rank, 10)) / kTick);
  thread_ = std::thread([this, ticks, seconds, rank] {
    std::unique_lock lock(mutex_);
    for (std::int64_t tick = 0; tick < ticks; ++tick)
      if (changed_.wait_for(lock, std::chrono::duration<double>(kTick), [this] { return disarmed_; })) return;
    say_error(fmt::format(
        "the ranks did not find each other within {} s: MPI_Init on rank {}: a process was stopped or "
        "could not start on its node; look for it and run the job again",
        seconds, rank));
    ::_exit(kExitSystem);
  });
}

void StartAlarm::disarm() {
  {
    const std::lock_guard lock(mutex_);
    disarmed_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

}  // namespace stoker::comm
