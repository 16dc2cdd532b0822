// What each rank last said about itself. Written by the training thread (its own entry) and the communication
// thread (the others), read by the watchdog. Thread-safe; every call takes a short lock.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

namespace stoker::comm {

// A sign of life. Sent as bytes between processes of one build.
struct Pulse {
  std::int64_t beats = 0;  // how many this rank has sent
  std::int64_t step = 0;
  std::int64_t collectives = 0;    // how many this rank has posted (sums and blocking calls)
  std::int64_t waits = 0;          // how many wait_all() and blocking calls it has come to
  std::int32_t claims_report = 0;  // it is about to report the failure: the others stay silent
  char activity[40] = {};
};

class PeerTable {
 public:
  PeerTable(int rank, int size);

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(pulses_.size()); }

  // -- This rank's own entry. Each change makes own_changed() true until the next pulse is taken.
  void set_activity(std::int64_t step, std::string_view activity);
  void count_collective();
  void enter_wait();  // the training thread is blocked from here …
  void leave_wait();  // … to here
  void claim_report();

  // The communication thread. take_own() counts a beat. urgent() is true when the peers should hear at once:
  // this rank came to a wait, or claims the report.
  Pulse take_own();
  bool urgent() const;
  void update(int peer, const Pulse& pulse);
  void set_missing(const std::vector<char>& missing);  // ranks whose message a sum waits for

  struct Snapshot {
    std::vector<Pulse> pulses;  // by rank
    std::vector<char> missing;  // by rank
    bool waiting = false;
  };
  Snapshot snapshot() const;
  // Every peer has come to as many waits as this rank.
  bool all_came() const;

 private:
  const int rank_;
  mutable std::mutex mutex_;
  std::vector<Pulse> pulses_;
  std::vector<char> missing_;
  bool waiting_ = false, urgent_ = false;
};

}  // namespace stoker::comm
