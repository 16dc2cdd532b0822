// Ends a job in which a collective does not end.
//
// A thread of its own looks every tick at the peer table. Time is counted in its own ticks, not by the clock:
// when the whole job is stopped and goes on later (SIGSTOP to all, a suspended virtual machine), nobody is
// accused.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lib/comm/communicator.h"
#include "lib/comm/peer_table.h"

namespace stoker::comm {

// What the watchdog sees at a tick. Times in seconds, by rank; the own rank's are 0.
struct Observation {
  int rank = 0;
  double waited = 0;           // how long this rank has been in one collective; 0 when in none
  std::vector<double> silent;  // since the last sign of life
  std::vector<Pulse> pulses;   // the last word of each
  std::vector<char> missing;   // a message of this rank is awaited
  std::vector<std::string> hosts;
};

// The one line for the user ("WHAT: WHERE: WHAT TO DO", without "stoker: error: "), or nothing while there is
// hope.
//   1. ranks silent for options.silent_seconds: stopped, or their node is lost; a requeue can help
//   2. after options.stuck_seconds: ranks that live but have not come to the collective, with what they are
//   in
//   3. else ranks whose message did not arrive though they came; else only that the collective did not end
// Pure.
std::optional<std::string> diagnose(const Observation& observation, const WatchdogOptions& options);

class Watchdog {
 public:
  // `end_job(code)` must end all ranks and not return; it is called on the watchdog's thread, after the line
  // is printed. `wake` makes the communication thread send what the table says. Both outlive this object, as
  // do the others.
  Watchdog(PeerTable& table, const std::vector<std::string>& hosts, const WatchdogOptions& options,
           std::function<void()> wake, std::function<void(int)> end_job);
  ~Watchdog();  // stops and joins the thread
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From now on until destruction the process is in its last call, which must return within silent_seconds:
  // else it prints one line (rank 0 only) and ends itself with code 1 (in MPI_Finalize no other MPI call is
  // allowed).
  void guard_finalize();

 private:
  void loop();
  void tick();
  void report(const std::string& line);
  bool pause(double seconds);  // false when asked to stop meanwhile

  PeerTable& table_;
  const WatchdogOptions options_;
  const double tick_seconds_;
  std::function<void()> wake_;
  std::function<void(int)> end_job_;
  Observation seen_;
  std::int64_t wait_number_ = -1;
  double finalizing_for_ = 0;

  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stop_ = false, finalizing_ = false;
  std::thread thread_;
};

}  // namespace stoker::comm
