#include "lib/comm/pulse_exchange.h"

#include <algorithm>
#include <thread>

namespace stoker::comm {

PulseExchange::PulseExchange(PeerTable& table, MPI_Comm communicator)
    : table_(table),
      communicator_(communicator),
      outgoing_(static_cast<std::size_t>(table.size())),
      sends_(static_cast<std::size_t>(table.size()), MPI_REQUEST_NULL),
      owed_(static_cast<std::size_t>(table.size()), 0),
      sent_(static_cast<std::size_t>(table.size()), 0) {
  receive();
}

void PulseExchange::receive() {
  STOKER_MPI(MPI_Irecv(&incoming_, sizeof incoming_, MPI_BYTE, MPI_ANY_SOURCE, 0, communicator_, &receive_));
}

bool PulseExchange::take_arrived() {
  bool any = false;
  while (true) {
    int arrived = 0;
    MPI_Status status;
    STOKER_MPI(MPI_Test(&receive_, &arrived, &status));
    if (arrived == 0) return any;
    table_.update(status.MPI_SOURCE, incoming_);
    ++received_;
    any = true;
    receive();
  }
}

bool PulseExchange::send_round() {
  bool all = true;
  for (int peer = 0; peer < table_.size(); ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    if (owed_[p] == 0) continue;
    int free = 0;
    STOKER_MPI(MPI_Test(&sends_[p], &free, MPI_STATUS_IGNORE));
    if (free == 0) {
      all = false;
      continue;
    }
    outgoing_[p] = current_;
    STOKER_MPI(MPI_Isend(&outgoing_[p], sizeof(Pulse), MPI_BYTE, peer, 0, communicator_, &sends_[p]));
    owed_[p] = 0;
    ++sent_[p];
  }
  return all;
}

bool PulseExchange::poll(Clock::time_point now) {
  const bool came = take_arrived();
  if (now >= next_due_ || table_.urgent()) {
    current_ = table_.take_own();
    std::fill(owed_.begin(), owed_.end(), 1);
    owed_[static_cast<std::size_t>(table_.rank())] = 0;
    next_due_ = now + interval_;
    round_open_ = true;
  }
  if (round_open_) round_open_ = !send_round();
  return came;
}

void PulseExchange::drain() {
  std::vector<std::int64_t> addressed(sent_.size());
  MPI_Request exchange = MPI_REQUEST_NULL;
  STOKER_MPI(MPI_Ialltoall(sent_.data(), 1, MPI_INT64_T, addressed.data(), 1, MPI_INT64_T, communicator_,
                           &exchange));
  int done = 0;
  while (done == 0) {
    take_arrived();
    std::this_thread::yield();
    STOKER_MPI(MPI_Test(&exchange, &done, MPI_STATUS_IGNORE));
  }
  std::int64_t expected = 0;
  for (const std::int64_t count : addressed) expected += count;
  while (received_ < expected) take_arrived();
  STOKER_MPI(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE));
  STOKER_MPI(MPI_Cancel(&receive_));
  STOKER_MPI(MPI_Wait(&receive_, MPI_STATUS_IGNORE));
}

}  // namespace stoker::comm
