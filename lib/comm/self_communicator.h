// The communicator of a process that is alone: no MPI, no threads; sums are done when they are posted.
#pragma once

#include "lib/comm/communicator.h"

namespace stoker::comm {

class SelfCommunicator : public Communicator {
 public:
  SelfCommunicator();

  int rank() const override { return 0; }
  int size() const override { return 1; }
  const std::vector<std::string>& hosts() const override { return hosts_; }
  LocalRanks local_ranks() const override { return {}; }

  void prepare_sums(int leaves, SumMode mode) override;
  std::int64_t sum_scratch_bytes() const override { return 0; }
  void begin_sum(const SumRequest& request) override;
  WaitTime wait_all() override { return {}; }
  SumCounters counters() const override { return counters_; }

  void barrier() override {}
  void broadcast(void*, std::int64_t, int) override {}
  std::vector<std::string> all_gather(std::string_view mine) override { return {std::string(mine)}; }

  void set_activity(std::int64_t, std::string_view) override {}
  void start_watchdog(const WatchdogOptions&) override {}  // nobody waits for a lone process
  [[noreturn]] void abort(int code) override;
  int finish(int code) override { return code; }

 private:
  std::vector<std::string> hosts_;
  SumCounters counters_;
};

// gethostname(), "unknown" if that fails.
std::string this_host();

}  // namespace stoker::comm
