// Guards the start of MPI: while a rank is in MPI_Init nothing can tell it that a peer will never come, and
// it would wait for ever.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace stoker::comm {

// From its construction until disarm() or its destruction: when `seconds` have passed, prints one line and
// ends this process with exit code 1, upon which the launcher ends the others. The ranks wait a little longer
// one after the other, so that one of them speaks. Owns a thread. seconds ≤ 0: no alarm.
class StartAlarm {
 public:
  StartAlarm(double seconds, int rank);
  ~StartAlarm() { disarm(); }
  StartAlarm(const StartAlarm&) = delete;
  StartAlarm& operator=(const StartAlarm&) = delete;

  void disarm();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool disarmed_ = false;
  std::thread thread_;
};

}  // namespace stoker::comm
