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
  // mpirun takes up to 2 s to end the ranks that are left after the first one has gone.
  const std::chrono::duration<double> patience(seconds + 3.0 * std::min(rank, 10));
  thread_ = std::thread([this, patience, seconds, rank] {
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, patience, [this] { return disarmed_; })) return;
    say_error(
        fmt::format("the ranks did not find each other within {} s: MPI_Init on rank {}: a process was "
                    "stopped or could not start on "
                    "its node; look for it and run the job again",
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
