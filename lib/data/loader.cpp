#include "lib/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "lib/base/error.h"
#include "lib/base/split.h"
#include "lib/base/text.h"
#include "lib/tensor/memory.h"

namespace stoker::data {
namespace {

constexpr int kDeepestQueue = 16;

// What one input thread works in.
struct Worker {
  Scratch scratch;
  std::vector<float> image;
  std::vector<std::int64_t> indices;
};

// Memory for one prepared batch. Its leaves lie one after the other, each on a boundary of kAlignment.
struct Slot {
  HostBuffer memory;
  std::vector<LeafBatch> leaves;
  StepBatch batch;
  std::exception_ptr error;
  bool ready = false;
};

// Sizes and places that are the same for every batch.
class Layout {
 public:
  Layout(const Description& about, const LoaderOptions& options)
      : options_(options), x_elements_(about.x_shape.elements()), value_elements_(about.y_shape.elements()) {}

  std::size_t x_bytes(std::int64_t samples) const {
    return align_up(static_cast<std::size_t>(samples * x_elements_) * sizeof(float));
  }
  std::size_t y_bytes(std::int64_t samples) const {
    if (options_.targets == TargetForm::none) return 0;
    const std::int64_t elements =
        options_.targets == TargetForm::labels ? samples : samples * value_elements_;
    return align_up(static_cast<std::size_t>(elements) * sizeof(float));
  }
  // Enough for this rank's leaves of any batch of up to n samples. (A leaf of a smaller batch may be the
  // larger one: of 5 leaves, the third has a sample of a batch of 2 and none of a batch of 3; but none has
  // more than n/V rounded up.)
  std::size_t slot_bytes(std::int64_t n) const {
    const std::int64_t samples = (n - 1) / options_.virtual_ranks + 1;
    return static_cast<std::size_t>(options_.end_leaf - options_.first_leaf) *
           (x_bytes(samples) + y_bytes(samples));
  }
  std::int64_t x_elements() const { return x_elements_; }

 private:
  const LoaderOptions& options_;
  std::int64_t x_elements_, value_elements_;
};

}  // namespace

class Loader::Implementation {
 public:
  Implementation(std::shared_ptr<const Source> source, const LoaderOptions& options)
      : source_(std::move(source)),
        about_(source_->description()),
        options_(options),
        sampler_(about_.samples, options.seed, options.shuffle),
        augmenter_(options.augmentation, about_.x_shape, options.seed),
        layout_(about_, options_),
        to_prepare_(normalised(options.start)) {
    check_targets();
    const std::uint64_t slot_bytes =
        std::max<std::uint64_t>(1, layout_.slot_bytes(std::min(options_.batch, about_.samples)));
    if (2 * slot_bytes > options_.memory_bytes)
      throw UserError("two batches of input need " + format_bytes(2 * slot_bytes) + " of memory; " +
                          format_bytes(options_.memory_bytes) + " may be used",
                      about_.spec, "choose a smaller --batch-size");
    // One batch in use and one ready for each thread, and one more against uneven times.
    const int threads = std::max(1, options_.threads);
    const std::uint64_t depth =
        std::min<std::uint64_t>(options_.memory_bytes / slot_bytes, static_cast<std::uint64_t>(threads) + 2);
    slots_.resize(std::min<std::uint64_t>(depth, kDeepestQueue));
    for (Slot& slot : slots_) slot.memory = HostBuffer(slot_bytes);
    try {
      for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }

  ~Implementation() { stop(); }

  const StepBatch& next() {
    std::unique_lock lock(mutex_);
    if (in_use_) {
      slots_[taken_++ % slots_.size()].ready = false;
      in_use_ = false;
      slot_free_.notify_one();
    }
    if (at_end() && begun_ == taken_) throw std::logic_error("Loader::next() after the last batch");
    Slot& slot = slots_[taken_ % slots_.size()];
    slot_ready_.wait(lock, [&] { return slot.ready; });
    if (slot.error) std::rethrow_exception(slot.error);
    in_use_ = true;
    return slot.batch;
  }

  std::int64_t steps_per_epoch() const { return sampler_.steps_per_epoch(options_.batch); }
  int queue_depth() const { return static_cast<int>(slots_.size()); }

 private:
  SamplerState normalised(SamplerState state) const {
    if (state.position >= about_.samples) return {state.epoch + 1, 0};
    return state;
  }

  void check_targets() const {
    if (options_.targets != TargetForm::none && about_.y_kind == TargetKind::none)
      throw UserError("the data have no labels", about_.spec, "give y as well: KIND:X,Y or ?y=NAME");
    if (options_.targets == TargetForm::labels && about_.y_shape.elements() != 1)
      throw UserError("labels are wanted, one a sample; y has the shape " + to_string(about_.y_shape),
                      about_.spec, "choose a loss for such targets");
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    slot_free_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  // An input thread: takes the next batch in order, prepares it, and sleeps while every slot is taken.
  void work() {
    Worker worker;
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto may_go_on = [&] { return stopping_ || (!at_end() && begun_ < taken_ + slots_.size()); };
      slot_free_.wait(lock, may_go_on);
      if (stopping_) return;
      Slot& slot = slots_[begun_++ % slots_.size()];
      const SamplerState state = to_prepare_;
      to_prepare_ = normalised({state.epoch, state.position + options_.batch});
      lock.unlock();
      try {
        prepare(state, slot, worker);
      } catch (...) {
        slot.error = std::current_exception();
      }
      lock.lock();
      slot.ready = true;
      slot_ready_.notify_one();
    }
  }

  bool at_end() const { return options_.end_epoch >= 0 && to_prepare_.epoch >= options_.end_epoch; }

  void prepare(SamplerState state, Slot& slot, Worker& worker) const {
    const std::int64_t n = std::min(options_.batch, about_.samples - state.position);
    slot.leaves.clear();
    std::byte* memory = slot.memory.data();
    for (std::int64_t leaf = options_.first_leaf; leaf < options_.end_leaf; ++leaf) {
      const Span part = split(n, options_.virtual_ranks, leaf);
      float* x = reinterpret_cast<float*>(memory);
      std::byte* y = memory + layout_.x_bytes(part.size());
      memory = y + layout_.y_bytes(part.size());
      LeafBatch out{leaf, part.size(), x, nullptr, nullptr};
      TargetBuffer targets;
      if (options_.targets == TargetForm::labels)
        out.labels = targets.labels = reinterpret_cast<std::int32_t*>(y);
      if (options_.targets == TargetForm::values) out.values = targets.values = reinterpret_cast<float*>(y);
      slot.leaves.push_back(out);
      if (part.size() == 0) continue;
      worker.indices.resize(static_cast<std::size_t>(part.size()));
      sampler_.indices(state.epoch, state.position + part.begin, worker.indices);
      source_->read(worker.indices, x, targets, worker.scratch);
      for (std::int64_t i = 0; i < part.size(); ++i)
        augmenter_.apply(state.epoch, worker.indices[static_cast<std::size_t>(i)],
                         x + i * layout_.x_elements(), worker.image);
    }
    slot.batch = {slot.leaves,    n,
                  state.epoch,    state.position / options_.batch,
                  state.position, state.position + n == about_.samples};
  }

  const std::shared_ptr<const Source> source_;
  const Description about_;
  const LoaderOptions options_;
  const Sampler sampler_;
  const Augmenter augmenter_;
  const Layout layout_;

  std::mutex mutex_;
  std::condition_variable slot_free_, slot_ready_;
  // Guarded by mutex_. Batch k, counted from the start, is in slot k modulo their number; a slot's content
  // belongs to the input thread that began it until it is ready, then to the caller of next().
  std::vector<Slot> slots_;
  SamplerState to_prepare_;
  std::uint64_t begun_ = 0;  // batches that input threads have taken on
  std::uint64_t taken_ = 0;  // batches that next() has finished with
  bool in_use_ = false;      // batch taken_ is in the caller's hands
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

Loader::Loader(std::shared_ptr<const Source> source, const LoaderOptions& options)
    : implementation_(std::make_unique<Implementation>(std::move(source), options)) {}
Loader::~Loader() = default;
const StepBatch& Loader::next() { return implementation_->next(); }
std::int64_t Loader::steps_per_epoch() const { return implementation_->steps_per_epoch(); }
int Loader::queue_depth() const { return implementation_->queue_depth(); }

}  // namespace stoker::data
