#include "lib/comm/sum_queue.h"

#include <algorithm>
#include <stdexcept>

namespace stoker::comm {

SumQueue::SumQueue(int rank, int world, int leaves, SumMode mode, MPI_Comm communicator, std::mutex& mutex)
    : plan_(rank, world, leaves, mode), mutex_(mutex) {
  for (Slot& slot : window_) slot.sum = std::make_unique<TreeSum>(plan_, communicator);
  unit_subtrees_.reserve(static_cast<std::size_t>(plan_.own_subtrees));
}

void SumQueue::post(const SumRequest& request) {
  if (static_cast<int>(request.subtrees.size()) != plan_.own_subtrees || request.count < 0)
    throw std::invalid_argument("begin_sum: wrong number of subtrees or a negative count");
  Posted posted{};
  std::copy(request.subtrees.begin(), request.subtrees.end(), posted.subtrees.begin());
  posted.output = request.output;
  posted.count = request.count;
  // A request of nothing is one empty unit, so that it too is complete on all ranks or on none.
  posted.units_left = std::max<std::int64_t>(1, (request.count + plan_.unit_floats - 1) / plan_.unit_floats);
  posted_.push_back(posted);
}

void SumQueue::forget() {
  posted_.clear();
  complete_ = next_request_ = 0;
  next_offset_ = 0;
}

bool SumQueue::start_next(Slot& slot) {
  float* output = nullptr;
  std::int64_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    if (next_request_ == posted_.size()) return false;
    const Posted& request = posted_[next_request_];
    slot.request = next_request_;
    output = request.output + next_offset_;
    count = std::min(plan_.unit_floats, request.count - next_offset_);
    unit_subtrees_.clear();
    for (int i = 0; i < plan_.own_subtrees; ++i)
      unit_subtrees_.push_back(request.subtrees[static_cast<std::size_t>(i)] + next_offset_);
    next_offset_ += count;
    if (next_offset_ == request.count) {
      ++next_request_;
      next_offset_ = 0;
    }
  }
  slot.sum->start(unit_subtrees_, output, count, sequence_++);
  return true;
}

bool SumQueue::work() {
  bool progress = false;
  for (Slot& slot : window_)
    if (!slot.sum->active() && start_next(slot)) progress = true;
  for (Slot& slot : window_) {
    if (!slot.sum->active()) continue;
    progress |= slot.sum->poll();
    if (slot.sum->active()) continue;
    const std::lock_guard lock(mutex_);
    if (--posted_[slot.request].units_left == 0) ++complete_;
  }
  return progress;
}

void SumQueue::mark_missing(std::vector<char>& flags) const {
  for (const Slot& slot : window_) slot.sum->mark_missing(flags);
}

std::int64_t SumQueue::bytes_sent() const {
  std::int64_t bytes = 0;
  for (const Slot& slot : window_) bytes += slot.sum->bytes_sent();
  return bytes;
}

}  // namespace stoker::comm
