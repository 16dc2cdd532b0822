// One all-reduce over at most SumPlan::unit_floats floats, as a state machine that is polled. For the
// communication thread alone.
//
// Tree: the range is cut into slices, slice s is owned by rank s.
//   1. every rank sends its maximal subtrees' values of slice s to rank s          (scatter)
//   2. the owner adds all ranks' subtrees in tree order (combine_schedule)         (combine)
//   3. the owner sends the sum to every rank                                       (gather)
// Each float crosses the wire as often as in a ring: (subtrees + 1)·(N - 1)/N times per rank.
// Library: the rank's subtrees are added in leaf order, then MPI_Iallreduce in place.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lib/comm/request_set.h"
#include "lib/comm/sum_plan.h"

namespace stoker::comm {

class TreeSum {
 public:
  TreeSum(const SumPlan& plan, MPI_Comm communicator);

  // `subtrees` (own_subtrees pointers) and `output` as in SumRequest, already at the unit's first float.
  // Their memory must stay until done(). Units are started in the same order on all ranks; `sequence` numbers
  // them.
  void start(const std::vector<float*>& subtrees, float* output, std::int64_t count, std::int64_t sequence);
  // Goes on as far as it can without blocking (a combine is computed here); true if anything happened.
  bool poll();
  bool active() const { return active_; }
  std::int64_t bytes_sent() const { return bytes_sent_; }  // since construction
  // Sets flags[p] for every rank p whose message has not arrived.
  void mark_missing(std::vector<char>& flags) const;

 private:
  struct Slice {
    std::int64_t begin, size;
  };
  Slice slice(int owner) const;
  void start_scatter();
  void start_library();
  void combine();
  void send_result();
  void receive_results();
  void send(const float* data, std::int64_t count, int peer, int tag, RequestSet& set);
  void receive(float* data, std::int64_t count, int peer, int tag, RequestSet& set);
  float* input(int index);  // of the combine schedule, at the own slice

  const SumPlan& plan_;
  MPI_Comm communicator_;
  std::unique_ptr<float[]> scratch_;  // of scratch_floats(); untouched pages cost nothing
  std::vector<float*> subtrees_;
  float* output_ = nullptr;
  std::int64_t count_ = 0;
  int tag_ = 0;
  bool active_ = false, combined_ = false, receiving_ = false;
  RequestSet scatter_in_, scatter_out_, gather_out_, gather_in_;
  std::int64_t bytes_sent_ = 0;
};

}  // namespace stoker::comm
