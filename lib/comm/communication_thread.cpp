// The communication thread of mpi_communicator.h.
#include <sys/prctl.h>

#include <algorithm>
#include <cstdlib>

#include "lib/comm/mpi_communicator.h"

namespace stoker::comm {
namespace {

// Between two fruitless tests. While the training thread computes, it may lose its core for each: on the 2
// cores of 2 ranks, naps from 50 µs up made the backward pass 14 % slower, this one 2 %, and the wait at its
// end was as long. While it is blocked: yields at first, then naps that add little to a wait so long.
constexpr std::chrono::microseconds kNapWhileComputing{5000};
constexpr std::chrono::microseconds kFirstBlockedNap{10}, kLongestBlockedNap{100};
constexpr int kYields = 100, kTurnsPerNapLength = 10;

}  // namespace

void MpiCommunicator::loop() {
  ::prctl(PR_SET_NAME, "stoker-comm");
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; the default of 50 us would double the shortest naps
  int idle_turns = 0;
  try {
    while (true) {
      stop_if_aborting();
      idle_turns = turn() ? 0 : idle_turns + 1;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) return;
      }
      if (idle_turns > 0) nap(idle_turns);
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    finished_.notify_all();
  }
  // Left: to make the MPI_Abort that follows.
  while (true) {
    stop_if_aborting();
    std::unique_lock lock(mutex_);
    if (work_.wait_for(lock, std::chrono::milliseconds(10), [&] { return stop_; })) return;
  }
}

void MpiCommunicator::stop_if_aborting() {
  const int code = abort_code_;
  if (code < 0) return;
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

bool MpiCommunicator::turn() {
  const Clock::time_point now = Clock::now();
  std::shared_ptr<SumQueue> sums;
  {
    const std::lock_guard lock(mutex_);
    sums = sums_;
  }
  bool progress = sums && sums->work();
  progress |= poll_blocking();
  pulses_->set_interval(std::chrono::nanoseconds(pulse_interval_ns_.load()));
  const bool pulse_due = now >= pulses_->next_due();
  progress |= pulses_->poll(now);
  if (pulse_due) {
    std::fill(missing_.begin(), missing_.end(), 0);
    if (sums) sums->mark_missing(missing_);
    peers_->set_missing(missing_);
  }
  publish();
  return progress;
}

void MpiCommunicator::publish() {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (caller_waits_ && !all_came_known_ && peers_->all_came()) {
    all_came_ = now;
    all_came_known_ = true;
  }
  const bool sums_complete = !sums_ || sums_->all_complete();
  if (busy_ && sums_complete) {
    counters_.bytes_sent = bytes_before_ + sums_->bytes_sent();
    counters_.busy += std::chrono::nanoseconds(now - busy_since_).count();
    busy_ = false;
  }
  if (caller_waits_ && sums_complete && blocking_ == nullptr) finished_.notify_all();
}

bool MpiCommunicator::poll_blocking() {
  BlockingCall* call = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (blocking_ == nullptr || (sums_ && !sums_->all_complete())) return false;
    call = blocking_;
  }
  if (!call->started) {
    call->start(&call->request);
    call->started = true;
  }
  int done = 0;
  STOKER_MPI(MPI_Test(&call->request, &done, MPI_STATUS_IGNORE));
  if (done == 0) return false;
  const std::lock_guard lock(mutex_);
  blocking_ = nullptr;
  return true;
}

void MpiCommunicator::nap(int idle_turns) {
  std::unique_lock lock(mutex_);
  const bool idle = blocking_ == nullptr && (!sums_ || sums_->all_complete());
  if (idle) {
    const std::size_t posted = sums_ ? sums_->posted() : 0;
    const auto woken = [&] {
      return stop_ || abort_code_ >= 0 || blocking_ != nullptr || peers_->urgent() ||
             (sums_ && sums_->posted() != posted);
    };
    work_.wait_until(lock, pulses_->next_due(), woken);
    return;
  }
  if (!caller_waits_) {
    work_.wait_for(lock, kNapWhileComputing, [&] { return stop_ || abort_code_ >= 0 || caller_waits_; });
    return;
  }
  lock.unlock();
  if (idle_turns <= kYields) {
    std::this_thread::yield();
    return;
  }
  const int lengths = 1 + (idle_turns - kYields) / kTurnsPerNapLength;
  std::this_thread::sleep_for(std::min(kLongestBlockedNap, kFirstBlockedNap * std::min(lengths, 100)));
}

}  // namespace stoker::comm
