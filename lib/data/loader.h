// Batches, prepared in the background: sampler → read and convert → augment → the leaves that this rank
// holds.
//
// The batches are a pure function of (source, options): the number of threads, ranks and the memory budget
// change when they are ready, never what is in them. The last batch of an epoch is the smaller one; nothing
// is dropped or repeated.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "lib/data/augment.h"
#include "lib/data/sampler.h"
#include "lib/data/source.h"

namespace stoker::data {

// Which y the batches carry.
enum class TargetForm : std::uint8_t { none, labels, values };

struct LoaderOptions {
  std::int64_t batch = 32;         // samples of a step over all ranks
  std::int64_t virtual_ranks = 1;  // V: leaves of a step
  std::int64_t first_leaf = 0;     // this rank holds the leaves [first_leaf, end_leaf)
  std::int64_t end_leaf = 1;
  std::uint64_t seed = 0;
  bool shuffle = false;
  Augmentation augmentation;
  TargetForm targets = TargetForm::labels;
  SamplerState start;           // the first batch; start.position may lie anywhere in the epoch
  std::int64_t end_epoch = -1;  // nothing is prepared from this epoch on; −1: endless
  int threads = 1;              // input threads; they sleep while the queue is full
  std::uint64_t memory_bytes = std::uint64_t{256} << 20;  // for prepared batches
};

// The part of a batch that belongs to one leaf: samples split(n, V, leaf) (lib/base/split.h) of the batch.
struct LeafBatch {
  std::int64_t leaf = 0;
  std::int64_t samples = 0;              // may be 0
  const float* x = nullptr;              // (samples, x_shape), 64-byte aligned
  const std::int32_t* labels = nullptr;  // (samples), 64-byte aligned; null unless TargetForm::labels
  const float* values = nullptr;  // (samples, y_shape), 64-byte aligned; null unless TargetForm::values
};

struct StepBatch {
  std::span<const LeafBatch> leaves;  // those of this rank, in order
  std::int64_t samples = 0;           // n, over all ranks
  std::int64_t epoch = 0;             // from 0
  std::int64_t step = 0;              // in the epoch, from 0
  std::int64_t position = 0;          // of the batch's first sample in the epoch's order
  bool last_of_epoch = false;
};

class Loader {
 public:
  // Starts the threads. Throws UserError when not even two batches fit memory_bytes, when the source has no
  // such y, or when the augmentation does not suit its shape.
  Loader(std::shared_ptr<const Source> source, const LoaderOptions& options);
  // Waits for the threads, which finish the batch in hand.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Blocks until the next step's batch is ready. It is valid until the next call. For one calling thread.
  // Rethrows what preparing that batch threw (again at every later call). A call after the last batch before
  // end_epoch throws std::logic_error.
  const StepBatch& next();

  std::int64_t steps_per_epoch() const;
  int queue_depth() const;  // batches that are prepared ahead, the one in use included

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace stoker::data
