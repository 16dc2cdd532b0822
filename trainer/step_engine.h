// One training step on this rank: its leaves forward and backward, the fixed tree over all leaves beside the
// backward pass, and what the step's tail brought along (DESIGN §4).
//
// A gradient slot is a flat fp32 buffer [gradients of the trainable parameters | statistics of the graph |
// votes]. Leaves fill slots, merges add them in tree order, and buckets of the last leaf's slot go to the
// communicator as soon as the backward pass has finished with them; the tail rides in the last bucket.
// Nothing is allocated in run().
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/backend/backend.h"
#include "lib/comm/communicator.h"
#include "lib/comm/leaf_tree.h"
#include "lib/data/loader.h"
#include "lib/telemetry/step_clock.h"
#include "trainer/programs.h"

namespace stoker::trainer {

// What a rank tells all others in a step; each is summed over the ranks.
enum class Vote : std::size_t {
  stop,           // a stop signal came, or the job's end is near
  save,           // a checkpoint is due by the clock, or the launcher announced the end
  shard_durable,  // this rank's part of the checkpoint under way is on disk
  save_failed,
  count_
};
using Votes = std::array<float, static_cast<std::size_t>(Vote::count_)>;

class StepEngine {
 public:
  // All references stay the caller's and outlive the engine. `parameters` and `arena` are device memory.
  StepEngine(backend::Backend& backend, comm::Communicator& communicator, const Programs& programs,
             const graph::ParameterLayout& layout, std::int64_t virtual_ranks, telemetry::StepClock& clock,
             float* parameters, std::byte* arena);

  // Runs the step on `batch`; afterwards gradients() is the gradient of the global batch's mean loss,
  // statistics() are the sums over its samples, votes() the sums over ranks, on all ranks alike. `step`
  // counts from 1.
  void run(const data::StepBatch& batch, std::uint64_t seed, std::int64_t step, const Votes& mine);

  const float* gradients() const;
  // In host memory, in the order of the graph's statistics; valid until the next run().
  std::span<const float> statistics() const { return {tail_.data(), statistics_size_}; }
  // The first float of the statistic `name` ("loss", "metric/accuracy"), which must exist.
  float statistic(std::string_view name) const;
  const graph::Graph& graph() const { return programs_.graph(); }
  float vote(Vote which) const { return tail_[statistics_size_ + static_cast<std::size_t>(which)]; }

  // After a step whose loss is not finite: where it began on this rank, if here. Parameters must be those of
  // the step.
  std::optional<std::string> find_non_finite(const data::StepBatch& batch, std::uint64_t seed,
                                             std::int64_t step);

  // Floats of one gradient slot.
  static std::int64_t slot_floats(const graph::ParameterLayout& layout, const graph::Graph& graph);
  std::int64_t slot_count() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int64_t slot_bytes() const { return slot_size_ * static_cast<std::int64_t>(sizeof(float)); }

 private:
  backend::StepArguments arguments_of(const data::StepBatch& batch, std::size_t leaf, std::uint64_t seed,
                                      std::int64_t step) const;
  float* slot(int index) const;
  // Merges [begin, end) after leaf `leaf` of the schedule.
  void merge(std::size_t leaf, std::int64_t begin, std::int64_t end);
  void run_leaf(const data::StepBatch& batch, std::size_t leaf, std::uint64_t seed, std::int64_t step,
                const Votes& mine);
  // The last leaf has its final values in [0, ready): merges and posts the buckets that are complete.
  void post_ready(std::int64_t ready);

  backend::Backend& backend_;
  comm::Communicator& communicator_;
  const Programs& programs_;
  telemetry::StepClock& clock_;
  float* parameters_;
  std::byte* arena_;
  comm::LocalSchedule schedule_;
  std::int64_t trainable_size_, tail_offset_, slot_size_;
  std::size_t statistics_size_;
  std::vector<std::unique_ptr<backend::Memory>> slots_;
  std::vector<float> tail_, zeros_;
  std::vector<std::int64_t> bucket_ends_;
  std::vector<float*> subtrees_;  // of the bucket being posted
  std::size_t next_bucket_ = 0;
  std::int64_t posted_ = 0;
  backend::GradientReady on_ready_;
};

}  // namespace stoker::trainer
