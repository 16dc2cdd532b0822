// Exchanges the ranks' pulses (peer_table.h) beside the collectives. For the communication thread alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "lib/comm/mpi_call.h"
#include "lib/comm/peer_table.h"

namespace stoker::comm {

class PulseExchange {
 public:
  using Clock = std::chrono::steady_clock;

  // `communicator` must be used for nothing else.
  PulseExchange(PeerTable& table, MPI_Comm communicator);

  // A pulse to every peer each `interval`, and at once when the table says urgent. A peer that has not taken
  // the last one gets no further one until it has. Never blocks; true if a pulse came in.
  bool poll(Clock::time_point now);
  void set_interval(Clock::duration interval) { interval_ = interval; }
  Clock::time_point next_due() const { return next_due_; }

  // Sends no more, and receives every pulse that was sent to this rank. All ranks call it together; blocks.
  void drain();

 private:
  void receive();  // posts the receive of the next pulse, from anyone
  bool send_round();
  bool take_arrived();

  PeerTable& table_;
  MPI_Comm communicator_;
  Clock::duration interval_ = std::chrono::seconds(1);
  Clock::time_point next_due_{};
  bool round_open_ = false;  // a round is due but some peer has not taken the last one
  Pulse current_;            // this round's
  Pulse incoming_;
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::vector<Pulse> outgoing_;     // by rank; belongs to MPI until the send is complete
  std::vector<MPI_Request> sends_;  // by rank
  std::vector<char> owed_;          // by rank: this round's pulse is not sent yet
  std::vector<std::int64_t> sent_;  // by rank
  std::int64_t received_ = 0;
};

}  // namespace stoker::comm
