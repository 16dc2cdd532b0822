// Errors on several ranks: one line, from one rank, and the same exit code everywhere.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>

#include "lib/comm/communicator.h"

namespace stoker::trainer {

// Thrown on all ranks alike after the one line was printed: nothing is left to say. run_on_ranks() ends with
// `code`.
class EndTogether : public std::exception {
 public:
  explicit EndTogether(int code) : code_(code) {}
  int code() const { return code_; }
  const char* what() const noexcept override { return "the ranks have agreed to end"; }

 private:
  int code_;
};

// Runs `part` on every rank. If it throws on any, the lowest such rank prints its error and all throw
// EndTogether. A collective: `part` itself may hold none.
void agree(comm::Communicator& communicator, const std::function<void()>& part);

// Starts the communicator, runs `body` on every rank and ends in order: the returned code is that of all
// ranks. An exception other than EndTogether is this rank's alone: it prints its line and aborts the job.
// Ranks that do not find each other within `timeout` seconds end, too.
int run_on_ranks(double timeout, const std::function<int(comm::Communicator&)>& body);

}  // namespace stoker::trainer
