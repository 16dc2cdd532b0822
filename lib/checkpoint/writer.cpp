#include "lib/checkpoint/writer.h"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/checkpoint/commit.h"
#include "lib/checkpoint/shard_file.h"
#include "lib/checkpoint/step_folder.h"

namespace stoker::checkpoint {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Paths among the options may be in any encoding.
constexpr auto kReplaceNoUtf8 = nlohmann::json::error_handler_t::replace;

// Signals go to the other threads: an interrupted fsync on a network file system would look like a failed
// one.
void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

// The state machine. `state_`, `message_`, `error_`, `best_` and the times are guarded by `mutex_`; what
// describes the save belongs to the background thread while the state is writing or committing, and to the
// caller's otherwise.
class Writer::Impl {
 public:
  explicit Impl(WriterOptions options) : options_(std::move(options)) {
    make_directories(options_.directory);
    if (options_.rank == 0) earlier_steps_ = steps_in(options_.directory);
    thread_ = std::thread([this] { run(); });
  }

  ~Impl() {
    discard_uncommitted();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void begin(std::int64_t step, std::span<const TensorSource> tensors, const nlohmann::json& state) {
    const Clock::time_point now = Clock::now();
    std::vector<TensorInfo> infos;
    std::vector<const void*> data;
    for (const TensorSource& tensor : tensors) {
      infos.push_back(tensor.info);
      data.push_back(tensor.data);
    }
    reserve(infos);
    started_ = now;
    image_->fill(data);
    if (options_.rank == 0) state_text_ = state.dump(-1, ' ', false, kReplaceNoUtf8);
    seal_ = Seal{"shard", step, options_.attempt, ++saves_, options_.rank, options_.ranks, 0, ""};
    folder_ = options_.directory + "/" + step_directory_name(step);
    set(SaveState::writing);
  }

  void reserve(std::span<const TensorInfo> tensors) {
    if (busy()) throw std::logic_error("a checkpoint is begun while another is being written");
    if (image_ && std::ranges::equal(image_->tensors(), tensors)) return;
    image_.reset();
    image_.emplace(std::vector<TensorInfo>(tensors.begin(), tensors.end()), options_.rank, options_.ranks);
  }

  void commit() {
    commit_started_ = Clock::now();
    set(SaveState::committing);
  }

  void abandon() {
    discard_uncommitted();
    set(SaveState::idle);
  }

  SaveState wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !working(); });
    return state_;
  }

  void set(SaveState state, std::string message = "", std::exception_ptr error = nullptr) {
    {
      const std::lock_guard lock(mutex_);
      state_ = state;
      message_ = std::move(message);
      error_ = std::move(error);
    }
    changed_.notify_all();
  }

  SaveState state() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  bool busy() const {
    const std::lock_guard lock(mutex_);
    return working() || state_ == SaveState::durable;
  }
  std::string message() const {
    const std::lock_guard lock(mutex_);
    return message_;
  }
  std::exception_ptr error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  void mark_best(std::int64_t step) {
    const std::lock_guard lock(mutex_);
    best_ = step;
  }
  double last_save_seconds() const {
    const std::lock_guard lock(mutex_);
    return write_seconds_ + commit_seconds_;
  }

 private:
  bool working() const { return state_ == SaveState::writing || state_ == SaveState::committing; }

  // The background thread.
  void run() {
    block_signals();
    for (;;) {
      SaveState job = SaveState::idle;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return working() || stopping_; });
        if (stopping_) return;
        job = state_;
      }
      try {
        if (job == SaveState::writing)
          write_own_shard();
        else
          make_checkpoint();
      } catch (const std::exception& error) {
        set(SaveState::failed, error.what(), std::current_exception());
      }
    }
  }

  void write_own_shard() {
    shard_path_.clear();
    make_directories(folder_);
    sync_path(options_.directory);
    int copy = 0;  // shards that a manifest names stay until another replaces it
    if (has_manifest(folder_))
      while (path_exists(folder_ + "/" + shard_name(options_.rank, options_.ranks, copy))) ++copy;
    shard_path_ = folder_ + "/" + shard_name(options_.rank, options_.ranks, copy);
    try {
      image_->write(temporary_name(shard_path_), seal_);
      rename_durably(temporary_name(shard_path_), shard_path_);
    } catch (...) {
      discard_shard();
      throw;
    }
    {
      const std::lock_guard lock(mutex_);
      write_seconds_ = seconds_since(started_);
    }
    set(SaveState::durable);
  }

  void discard_shard() {
    if (shard_path_.empty()) return;
    discard_file(temporary_name(shard_path_));
    discard_file(shard_path_);
  }

  // The folder goes here and not where a shard fails: there, another rank may be about to make its shard in
  // it.
  void discard_uncommitted() {
    const SaveState state = wait();
    if (state != SaveState::durable && state != SaveState::failed) return;
    discard_shard();
    discard_folder_if_empty(folder_);
  }

  void make_checkpoint() {
    const SaveToCommit save{folder_, seal_, image_->tensors()};
    std::string note;
    try {
      note = write_manifest_of(save, find_shards(save, options_.visible_within_seconds), state_text_);
    } catch (...) {
      discard_save(save);
      throw;
    }
    try {
      // An older checkpoint goes only after everything before has succeeded.
      if (note.empty()) name_latest_and_thin_out();
    } catch (const std::exception& error) {
      note = error.what();
    }
    {
      const std::lock_guard lock(mutex_);
      commit_seconds_ = seconds_since(commit_started_);
    }
    set(SaveState::committed, note);
  }

  void name_latest_and_thin_out() {
    write_file_atomically(options_.directory + "/" + kLatestName, step_directory_name(seal_.step) + "\n");
    std::set<std::int64_t> always;
    {
      const std::lock_guard lock(mutex_);
      if (best_) always.insert(*best_);
    }
    if (options_.resumed_from) always.insert(*options_.resumed_from);
    set_aside_newer(options_.directory, seal_.step, earlier_steps_);
    earlier_steps_.clear();
    apply_retention(options_.directory, seal_.step, options_.keep, always);
  }

  const WriterOptions options_;
  std::vector<std::int64_t> earlier_steps_;  // on disk when this attempt began; rank 0

  // The save.
  std::optional<ShardImage> image_;
  std::string state_text_, folder_, shard_path_;
  Seal seal_;
  std::uint64_t saves_ = 0;
  Clock::time_point started_, commit_started_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  SaveState state_ = SaveState::idle;
  std::string message_;
  std::exception_ptr error_;
  std::optional<std::int64_t> best_;
  double write_seconds_ = 0, commit_seconds_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

Writer::Writer(WriterOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Writer::~Writer() = default;

std::uint64_t Writer::staging_bytes(std::span<const TensorInfo> tensors, int rank, int ranks) {
  return shard_bytes(tensors, rank, ranks);
}

void Writer::reserve(std::span<const TensorInfo> tensors) { impl_->reserve(tensors); }
void Writer::begin(std::int64_t step, std::span<const TensorSource> tensors, const nlohmann::json& state) {
  impl_->begin(step, tensors, state);
}
SaveState Writer::state() const { return impl_->state(); }
bool Writer::busy() const { return impl_->busy(); }
std::string Writer::message() const { return impl_->message(); }
std::exception_ptr Writer::error() const { return impl_->error(); }
void Writer::commit() { impl_->commit(); }
void Writer::release() { impl_->set(SaveState::idle); }
void Writer::abandon() { impl_->abandon(); }
SaveState Writer::wait() { return impl_->wait(); }
void Writer::mark_best(std::int64_t step) { impl_->mark_best(step); }
double Writer::last_save_seconds() const { return impl_->last_save_seconds(); }

}  // namespace stoker::checkpoint
