#include "lib/comm/peer_table.h"

#include <algorithm>
#include <cstring>

namespace stoker::comm {

PeerTable::PeerTable(int rank, int size)
    : rank_(rank), pulses_(static_cast<std::size_t>(size)), missing_(static_cast<std::size_t>(size)) {
  for (Pulse& pulse : pulses_) std::strcpy(pulse.activity, "start-up");
}

void PeerTable::set_activity(std::int64_t step, std::string_view activity) {
  const std::lock_guard lock(mutex_);
  Pulse& own = pulses_[static_cast<std::size_t>(rank_)];
  own.step = step;
  const std::size_t length = std::min(activity.size(), sizeof own.activity - 1);
  std::memcpy(own.activity, activity.data(), length);
  std::memset(own.activity + length, 0, sizeof own.activity - length);
}

void PeerTable::count_collective() {
  const std::lock_guard lock(mutex_);
  ++pulses_[static_cast<std::size_t>(rank_)].collectives;
}

void PeerTable::enter_wait() {
  const std::lock_guard lock(mutex_);
  ++pulses_[static_cast<std::size_t>(rank_)].waits;
  waiting_ = urgent_ = true;
}

void PeerTable::leave_wait() {
  const std::lock_guard lock(mutex_);
  waiting_ = false;
}

void PeerTable::claim_report() {
  const std::lock_guard lock(mutex_);
  pulses_[static_cast<std::size_t>(rank_)].claims_report = 1;
  urgent_ = true;
}

Pulse PeerTable::take_own() {
  const std::lock_guard lock(mutex_);
  Pulse& own = pulses_[static_cast<std::size_t>(rank_)];
  ++own.beats;
  urgent_ = false;
  return own;
}

bool PeerTable::urgent() const {
  const std::lock_guard lock(mutex_);
  return urgent_;
}

void PeerTable::update(int peer, const Pulse& pulse) {
  const std::lock_guard lock(mutex_);
  Pulse& entry = pulses_[static_cast<std::size_t>(peer)];
  entry = pulse;
  entry.activity[sizeof entry.activity - 1] = '\0';
}

void PeerTable::set_missing(const std::vector<char>& missing) {
  const std::lock_guard lock(mutex_);
  missing_ = missing;
}

PeerTable::Snapshot PeerTable::snapshot() const {
  const std::lock_guard lock(mutex_);
  return {pulses_, missing_, waiting_};
}

bool PeerTable::all_came() const {
  const std::lock_guard lock(mutex_);
  const std::int64_t own = pulses_[static_cast<std::size_t>(rank_)].waits;
  return std::all_of(pulses_.begin(), pulses_.end(), [&](const Pulse& p) { return p.waits >= own; });
}

}  // namespace stoker::comm
