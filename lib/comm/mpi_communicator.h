// The communicator over MPI (Open MPI 4 and later; written to MPI 3.1).
//
// MPI_Init_thread and what follows in the constructor run on the calling thread. From then on one
// communication thread makes all MPI calls until finish(), which finalizes on the thread that initialised
// (MPI_THREAD_SERIALIZED). It tests, never waits: while the training thread computes it takes long naps
// between tests, so that a rank bound to one core keeps that core; while the training thread is blocked in a
// collective there is nothing else to do, and it polls.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "lib/comm/communicator.h"
#include "lib/comm/host_table.h"
#include "lib/comm/mpi_call.h"
#include "lib/comm/peer_table.h"
#include "lib/comm/pulse_exchange.h"
#include "lib/comm/sum_queue.h"
#include "lib/comm/watchdog.h"

namespace stoker::comm {

class MpiCommunicator : public Communicator {
 public:
  // Calls MPI_Init_thread; at most one object a process. Throws SystemError.
  MpiCommunicator(int* argc, char*** argv);
  ~MpiCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const std::vector<std::string>& hosts() const override { return host_table_.hosts; }
  LocalRanks local_ranks() const override { return host_table_.local_ranks; }

  void prepare_sums(int leaves, SumMode mode) override;
  std::int64_t sum_scratch_bytes() const override;
  void begin_sum(const SumRequest& request) override;
  WaitTime wait_all() override;
  SumCounters counters() const override;

  void barrier() override;
  void broadcast(void* data, std::int64_t bytes, int root) override;
  std::vector<std::string> all_gather(std::string_view mine) override;

  void set_activity(std::int64_t step, std::string_view activity) override;
  void start_watchdog(const WatchdogOptions& options) override;
  [[noreturn]] void abort(int code) override;
  int finish(int code) override;

 private:
  using Clock = std::chrono::steady_clock;

  // A blocking call in the hands of the communication thread: `start` begins it there, and it is tested until
  // done.
  struct BlockingCall {
    std::function<void(MPI_Request*)> start;
    MPI_Request request = MPI_REQUEST_NULL;
    bool started = false;
  };

  // Training thread: runs the call after all posted sums, and blocks until it is complete.
  void run_blocking(std::function<void(MPI_Request*)> start);
  void wait_until(const std::function<bool()>& done);  // with mutex_ not held; rethrows failure_
  void wake();
  void stop_thread();

  // The communication thread (communication_thread.cpp).
  void loop();
  bool turn();  // one round of tests; true if anything happened
  bool poll_blocking();
  void publish();  // counters and completion, for the training thread
  void nap(int idle_turns);
  void stop_if_aborting();

  int rank_ = 0, size_ = 1;
  MPI_Comm sums_comm_ = MPI_COMM_NULL, blocking_comm_ = MPI_COMM_NULL, pulse_comm_ = MPI_COMM_NULL;
  HostTable host_table_;
  std::unique_ptr<PeerTable> peers_;
  std::unique_ptr<PulseExchange> pulses_;  // communication thread only, but for construction
  std::unique_ptr<Watchdog> watchdog_;
  std::atomic<std::int64_t> pulse_interval_ns_;

  mutable std::mutex mutex_;                 // guards what follows, up to the blank line
  std::condition_variable work_, finished_;  // for the communication thread; for the training thread
  std::shared_ptr<SumQueue> sums_;           // shared with a turn in progress; replaced only while idle
  BlockingCall* blocking_ = nullptr;
  std::exception_ptr failure_;
  bool caller_waits_ = false, stop_ = false;
  SumCounters counters_;
  std::int64_t bytes_before_ = 0;  // sent by earlier queues
  Clock::time_point busy_since_;
  bool busy_ = false;           // a posted sum is not complete
  Clock::time_point all_came_;  // when the last peer came to the wait in progress
  bool all_came_known_ = false;

  std::atomic<int> abort_code_{-1};  // MPI_Abort is due
  std::vector<char> missing_;        // communication thread only
  std::thread thread_;
};

}  // namespace stoker::comm
