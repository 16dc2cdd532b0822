#include "lib/comm/tree_sum.h"

#include <algorithm>
#include <cstring>

namespace stoker::comm {
namespace {

// The combine works block by block so that the merges of one block find it in the first-level cache.
constexpr std::int64_t kBlockFloats = 2048;
// Tags run round; MPI promises at least 32767.
constexpr std::int64_t kTagCycle = 8192;

void add(float* into, const float* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) into[i] += from[i];
}

}  // namespace

TreeSum::TreeSum(const SumPlan& plan, MPI_Comm communicator)
    : plan_(plan),
      communicator_(communicator),
      scratch_(std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(plan.scratch_floats()))) {
  const auto world = static_cast<std::size_t>(plan.world);
  scatter_in_.reserve(plan.combine.inputs.size());
  scatter_out_.reserve(world * static_cast<std::size_t>(plan.own_subtrees));
  gather_out_.reserve(world);
  gather_in_.reserve(world);
  subtrees_.reserve(static_cast<std::size_t>(plan.own_subtrees));
}

void TreeSum::start(const std::vector<float*>& subtrees, float* output, std::int64_t count,
                    std::int64_t sequence) {
  subtrees_ = subtrees;
  output_ = output;
  count_ = count;
  tag_ = static_cast<int>(sequence % kTagCycle) * 2;
  active_ = true;
  combined_ = receiving_ = false;
  for (RequestSet* set : {&scatter_in_, &scatter_out_, &gather_out_, &gather_in_}) set->clear();
  if (plan_.mode == SumMode::library)
    start_library();
  else
    start_scatter();
}

TreeSum::Slice TreeSum::slice(int owner) const {
  const std::int64_t length = plan_.slice_floats(count_);
  const std::int64_t begin = std::min(count_, length * owner);
  return {begin, std::min(count_, begin + length) - begin};
}

void TreeSum::send(const float* data, std::int64_t count, int peer, int tag, RequestSet& set) {
  STOKER_MPI(MPI_Isend(data, static_cast<int>(count), MPI_FLOAT, peer, tag, communicator_, set.add(peer)));
  bytes_sent_ += count * static_cast<std::int64_t>(sizeof(float));
}

void TreeSum::receive(float* data, std::int64_t count, int peer, int tag, RequestSet& set) {
  STOKER_MPI(MPI_Irecv(data, static_cast<int>(count), MPI_FLOAT, peer, tag, communicator_, set.add(peer)));
}

float* TreeSum::input(int index) {
  const Slice own = slice(plan_.rank);
  const int first_own = plan_.combine.first_input[static_cast<std::size_t>(plan_.rank)];
  if (index >= first_own && index < first_own + plan_.own_subtrees)
    return subtrees_[static_cast<std::size_t>(index - first_own)] + own.begin;
  const int received = index < first_own ? index : index - plan_.own_subtrees;
  return scratch_.get() + received * own.size;
}

void TreeSum::start_scatter() {
  // Receives first: a message that finds its receive posted is not copied twice.
  const Slice own = slice(plan_.rank);
  if (own.size > 0) {
    for (int peer = 0; peer < plan_.world; ++peer) {
      if (peer == plan_.rank) continue;
      const auto p = static_cast<std::size_t>(peer);
      for (int i = plan_.combine.first_input[p]; i < plan_.combine.first_input[p + 1]; ++i)
        receive(input(i), own.size, peer, tag_, scatter_in_);
    }
  }
  // Each rank begins with its right neighbour, so that not all send to rank 0 first.
  for (int distance = 1; distance < plan_.world; ++distance) {
    const int owner = (plan_.rank + distance) % plan_.world;
    const Slice target = slice(owner);
    if (target.size == 0) continue;
    for (const float* subtree : subtrees_)
      send(subtree + target.begin, target.size, owner, tag_, scatter_out_);
  }
}

void TreeSum::start_library() {
  if (subtrees_[0] != output_)
    std::memcpy(output_, subtrees_[0], static_cast<std::size_t>(count_) * sizeof(float));
  for (std::size_t i = 1; i < subtrees_.size(); ++i) add(output_, subtrees_[i], count_);
  STOKER_MPI(MPI_Iallreduce(MPI_IN_PLACE, output_, static_cast<int>(count_), MPI_FLOAT, MPI_SUM,
                            communicator_, gather_in_.add(plan_.rank)));
  bytes_sent_ += count_ * static_cast<std::int64_t>(sizeof(float));
  combined_ = receiving_ = true;
}

void TreeSum::combine() {
  const Slice own = slice(plan_.rank);
  float* const result = input(0);
  for (std::int64_t begin = 0; begin < own.size; begin += kBlockFloats) {
    const std::int64_t size = std::min(kBlockFloats, own.size - begin);
    for (const Merge& merge : plan_.combine.merges)
      add(input(merge.into) + begin, input(merge.from) + begin, size);
    if (result != output_ + own.begin)
      std::memcpy(output_ + own.begin + begin, result + begin,
                  static_cast<std::size_t>(size) * sizeof(float));
  }
}

void TreeSum::send_result() {
  const Slice own = slice(plan_.rank);
  if (own.size == 0) return;
  for (int distance = 1; distance < plan_.world; ++distance)
    send(output_ + own.begin, own.size, (plan_.rank + distance) % plan_.world, tag_ + 1, gather_out_);
}

void TreeSum::receive_results() {
  for (int owner = 0; owner < plan_.world; ++owner) {
    const Slice source = slice(owner);
    if (owner != plan_.rank && source.size > 0)
      receive(output_ + source.begin, source.size, owner, tag_ + 1, gather_in_);
  }
}

bool TreeSum::poll() {
  if (!active_) return false;
  bool progress = scatter_in_.poll();
  if (!combined_ && scatter_in_.done()) {
    combine();
    send_result();
    combined_ = progress = true;
  }
  progress |= scatter_out_.poll();
  // The output may be the first subtree: nothing may be received into it while it is being sent.
  if (!receiving_ && scatter_out_.done()) {
    receive_results();
    receiving_ = progress = true;
  }
  progress |= gather_out_.poll();
  progress |= gather_in_.poll();
  if (combined_ && receiving_ && gather_out_.done() && gather_in_.done()) {
    active_ = false;
    progress = true;
  }
  return progress;
}

void TreeSum::mark_missing(std::vector<char>& flags) const {
  if (!active_) return;
  scatter_in_.mark_incomplete(flags);
  gather_in_.mark_incomplete(flags);
}

}  // namespace stoker::comm
