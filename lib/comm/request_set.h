// A set of MPI requests that is tested, never waited for. For the communication thread alone.
#pragma once

#include <cstddef>
#include <vector>

#include "lib/comm/mpi_call.h"

namespace stoker::comm {

class RequestSet {
 public:
  // Room for `capacity` requests, so that add() does not allocate.
  void reserve(std::size_t capacity);
  // The next request, to or from rank `peer`; pass the result to an MPI_I… call at once.
  MPI_Request* add(int peer);
  // Tests all; true if one or more completed in this call. Throws SystemError if one failed.
  bool poll();
  bool done() const { return completed_ == requests_.size(); }
  void clear();
  // Sets flags[p] for every peer p of an incomplete request.
  void mark_incomplete(std::vector<char>& flags) const;

 private:
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;
  std::vector<int> indices_;
  std::size_t completed_ = 0;
};

}  // namespace stoker::comm
