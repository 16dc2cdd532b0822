#include "lib/comm/request_set.h"

#include <string>

#include "lib/base/error.h"

namespace stoker::comm {

void check_mpi(int code, const char* expression, const char* file, int line) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw SystemError(
      std::string(expression) + " failed",
      std::string(text, static_cast<std::size_t>(length)) + " (" + file + ":" + std::to_string(line) + ")",
      "see the messages of MPI; if a node failed, run the job again");
}

void RequestSet::reserve(std::size_t capacity) {
  requests_.reserve(capacity);
  peers_.reserve(capacity);
  indices_.reserve(capacity);
}

MPI_Request* RequestSet::add(int peer) {
  requests_.push_back(MPI_REQUEST_NULL);
  peers_.push_back(peer);
  indices_.resize(requests_.size());
  return &requests_.back();
}

bool RequestSet::poll() {
  if (done()) return false;
  int count = 0;
  STOKER_MPI(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(),
                          MPI_STATUSES_IGNORE));
  if (count == MPI_UNDEFINED || count == 0) return false;
  completed_ += static_cast<std::size_t>(count);
  return true;
}

void RequestSet::clear() {
  requests_.clear();
  peers_.clear();
  indices_.clear();
  completed_ = 0;
}

void RequestSet::mark_incomplete(std::vector<char>& flags) const {
  for (std::size_t i = 0; i < requests_.size(); ++i)
    if (requests_[i] != MPI_REQUEST_NULL) flags[static_cast<std::size_t>(peers_[i])] = 1;
}

}  // namespace stoker::comm
