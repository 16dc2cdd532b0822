#include "trainer/step_engine.h"

#include <algorithm>
#include <stdexcept>

namespace stoker::trainer {
namespace {

using telemetry::Phase;
using telemetry::StepClock;

// Buckets small enough that the first leaves while most of the backward pass is still to come, large enough
// that their latency does not count.
constexpr std::int64_t kSmallestBucket = std::int64_t{64} << 10;  // floats
constexpr std::int64_t kLargestBucket = std::int64_t{2} << 20;

// The tail begins at a cache line.
std::int64_t tail_offset(const graph::ParameterLayout& layout) {
  return (layout.trainable_size + 15) / 16 * 16;
}

std::vector<std::int64_t> make_buckets(std::int64_t trainable, std::int64_t end) {
  const std::int64_t size = std::clamp(trainable / 4, kSmallestBucket, kLargestBucket);
  std::vector<std::int64_t> ends;
  for (std::int64_t at = size; at + size / 2 < trainable; at += size) ends.push_back(at);
  ends.push_back(end);
  return ends;
}

}  // namespace

std::int64_t StepEngine::slot_floats(const graph::ParameterLayout& layout, const graph::Graph& graph) {
  return tail_offset(layout) + graph.statistics_size + static_cast<std::int64_t>(Vote::count_);
}

StepEngine::StepEngine(backend::Backend& backend, comm::Communicator& communicator, const Programs& programs,
                       const graph::ParameterLayout& layout, std::int64_t virtual_ranks, StepClock& clock,
                       float* parameters, std::byte* arena)
    : backend_(backend),
      communicator_(communicator),
      programs_(programs),
      clock_(clock),
      parameters_(parameters),
      arena_(arena),
      schedule_(comm::local_schedule(
          static_cast<int>(virtual_ranks),
          comm::leaves_of_rank(communicator.rank(), communicator.size(), static_cast<int>(virtual_ranks)))),
      trainable_size_(layout.trainable_size),
      tail_offset_(tail_offset(layout)),
      slot_size_(slot_floats(layout, programs.graph())),
      statistics_size_(static_cast<std::size_t>(programs.graph().statistics_size)) {
  const std::size_t tail_size = statistics_size_ + static_cast<std::size_t>(Vote::count_);
  tail_.resize(tail_size);
  zeros_.resize(static_cast<std::size_t>(slot_size_));
  for (int i = 0; i < schedule_.slots; ++i)
    slots_.push_back(backend.allocate(static_cast<std::size_t>(slot_size_) * sizeof(float)));
  bucket_ends_ = make_buckets(trainable_size_, slot_size_);
  subtrees_.resize(schedule_.results.size());
  on_ready_ = [this](std::int64_t ready) { post_ready(ready); };
}

float* StepEngine::slot(int index) const {
  return reinterpret_cast<float*>(slots_[static_cast<std::size_t>(index)]->data());
}

const float* StepEngine::gradients() const { return slot(0); }

float StepEngine::statistic(std::string_view name) const {
  for (const graph::Statistic& statistic : graph().statistics)
    if (statistic.name == name) return tail_[static_cast<std::size_t>(statistic.offset)];
  throw std::logic_error("no such statistic: " + std::string(name));
}

backend::StepArguments StepEngine::arguments_of(const data::StepBatch& batch, std::size_t leaf,
                                                std::uint64_t seed, std::int64_t step) const {
  const data::LeafBatch& samples = batch.leaves[leaf];
  backend::StepArguments arguments;
  arguments.input = samples.x;
  arguments.target = samples.labels != nullptr ? static_cast<const void*>(samples.labels) : samples.values;
  arguments.parameters = parameters_;
  arguments.gradients = slot(schedule_.steps[leaf].slot);
  arguments.statistics = arguments.gradients + tail_offset_;
  arguments.arena = arena_;
  arguments.loss_seed = 1.0f / static_cast<float>(batch.samples);
  arguments.seed = seed;
  arguments.step = static_cast<std::uint64_t>(step);
  arguments.leaf = static_cast<std::uint32_t>(samples.leaf);
  return arguments;
}

void StepEngine::merge(std::size_t leaf, std::int64_t begin, std::int64_t end) {
  for (const comm::Merge& merge : schedule_.steps[leaf].merges)
    backend_.add(slot(merge.into) + begin, slot(merge.from) + begin, end - begin);
}

void StepEngine::post_ready(std::int64_t ready) {
  const std::size_t last_leaf = schedule_.steps.size() - 1;
  while (next_bucket_ < bucket_ends_.size() && bucket_ends_[next_bucket_] <= ready) {
    const std::int64_t end = bucket_ends_[next_bucket_++];
    merge(last_leaf, posted_, end);
    for (std::size_t i = 0; i < subtrees_.size(); ++i)
      subtrees_[i] = slot(schedule_.results[i].slot) + posted_;
    communicator_.begin_sum({.subtrees = subtrees_, .output = slot(0) + posted_, .count = end - posted_});
    posted_ = end;
  }
}

void StepEngine::run_leaf(const data::StepBatch& batch, std::size_t leaf, std::uint64_t seed,
                          std::int64_t step, const Votes& mine) {
  const bool last = leaf + 1 == schedule_.steps.size();
  const backend::StepArguments arguments = arguments_of(batch, leaf, seed, step);
  float* const votes = arguments.statistics + statistics_size_;
  // A rank's votes ride with its first leaf.
  const float* const tail_votes = leaf == 0 ? mine.data() : zeros_.data();
  const std::int64_t samples = batch.leaves[leaf].samples;
  if (samples == 0) {
    backend_.copy_to_device(arguments.gradients, zeros_.data(), zeros_.size() * sizeof(float));
    backend_.copy_to_device(votes, tail_votes, mine.size() * sizeof(float));
    return;
  }
  backend::Program& program = programs_.of(samples);
  {
    const StepClock::Scope in(clock_, Phase::forward);
    communicator_.set_activity(step, "forward pass");
    program.run_forward(arguments);
    backend_.copy_to_device(votes, tail_votes, mine.size() * sizeof(float));
  }
  const StepClock::Scope in(clock_, Phase::backward);
  communicator_.set_activity(step, "backward pass");
  static const backend::GradientReady kNothing = [](std::int64_t) {};
  program.run_backward(arguments, last ? on_ready_ : kNothing);
}

void StepEngine::run(const data::StepBatch& batch, std::uint64_t seed, std::int64_t step, const Votes& mine) {
  next_bucket_ = 0;
  posted_ = 0;
  const std::size_t leaves = schedule_.steps.size();
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    run_leaf(batch, leaf, seed, step, mine);
    const StepClock::Scope in(clock_, Phase::backward);
    if (leaf + 1 < leaves)
      merge(leaf, 0, slot_size_);
    else
      post_ready(slot_size_);
  }
  const StepClock::Scope in(clock_, Phase::all_reduce);
  communicator_.set_activity(step, "all-reduce");
  const comm::WaitTime waited = communicator_.wait_all();
  clock_.add_straggler(waited.straggler);
  backend_.copy_to_host(tail_.data(), slot(0) + tail_offset_, tail_.size() * sizeof(float));
}

std::optional<std::string> StepEngine::find_non_finite(const data::StepBatch& batch, std::uint64_t seed,
                                                       std::int64_t step) {
  for (std::size_t leaf = 0; leaf < schedule_.steps.size(); ++leaf) {
    const std::int64_t samples = batch.leaves[leaf].samples;
    if (samples == 0) continue;
    if (auto name = programs_.of(samples).find_non_finite(arguments_of(batch, leaf, seed, step))) return name;
  }
  return std::nullopt;
}

}  // namespace stoker::trainer
