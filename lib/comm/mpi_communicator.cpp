#include "lib/comm/mpi_communicator.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <ctime>

#include "lib/comm/self_communicator.h"

namespace stoker::comm {
namespace {

// Between two fruitless tests. While the training thread computes, it may lose its core for each: on the 2 cores
// of 2 ranks, naps from 50 µs up made the backward pass 14 % slower, this one 2 %, and the wait at its end was
// as long. While it is blocked: yields at first, then naps that add little to a wait so long.
constexpr std::chrono::microseconds kNapWhileComputing{5000};
constexpr std::chrono::microseconds kFirstBlockedNap{10}, kLongestBlockedNap{100};
constexpr int kYields = 100, kTurnsPerNapLength = 10;
constexpr std::int64_t kBroadcastPiece = std::int64_t{1} << 30;
constexpr auto kDefaultPulseInterval = std::chrono::seconds(1);

constexpr std::size_t kMaxCores = 4096;

// What the ranks tell each other at start-up.
struct HostRecord {
  char host[256];
  int node;  // the lowest rank on the same node
  unsigned char cores[kMaxCores / 8];
};

HostRecord describe_this_process() {
  HostRecord record{};
  std::strncpy(record.host, this_host().c_str(), sizeof record.host - 1);
  cpu_set_t* const mask = CPU_ALLOC(kMaxCores);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCores);
  CPU_ZERO_S(bytes, mask);
  const bool known = ::sched_getaffinity(0, bytes, mask) == 0;
  for (std::size_t core = 0; core < kMaxCores; ++core)
    if (!known || CPU_ISSET_S(core, bytes, mask))
      record.cores[core / 8] |= static_cast<unsigned char>(1U << core % 8);
  CPU_FREE(mask);
  return record;
}

bool share_cores(const HostRecord& a, const HostRecord& b) {
  for (std::size_t i = 0; i < sizeof a.cores; ++i)
    if ((a.cores[i] & b.cores[i]) != 0) return true;
  return false;
}

}  // namespace

// -- Start-up.
// ------------------------------------------------------------------------------------------------------

MpiCommunicator::MpiCommunicator(int* argc, char*** argv)
    : pulse_interval_ns_(std::chrono::nanoseconds(kDefaultPulseInterval).count()) {
  int provided = 0;
  STOKER_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided));
  if (provided < MPI_THREAD_SERIALIZED)
    throw SystemError("MPI_Init_thread", "this MPI does not allow calls from a thread of its own",
                      "use an MPI built with thread support");
  STOKER_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  STOKER_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  STOKER_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  for (MPI_Comm* communicator : {&sums_comm_, &blocking_comm_, &pulse_comm_})
    STOKER_MPI(MPI_Comm_dup(MPI_COMM_WORLD, communicator));
  gather_hosts();
  peers_ = std::make_unique<PeerTable>(rank_, size_);
  pulses_ = std::make_unique<PulseExchange>(*peers_, pulse_comm_);
  missing_.assign(static_cast<std::size_t>(size_), 0);
  // Signals are the training thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void MpiCommunicator::gather_hosts() {
  HostRecord mine = describe_this_process();
  MPI_Comm node = MPI_COMM_NULL;
  STOKER_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  STOKER_MPI(MPI_Allreduce(&rank_, &mine.node, 1, MPI_INT, MPI_MIN, node));
  STOKER_MPI(MPI_Comm_free(&node));
  std::vector<HostRecord> records(static_cast<std::size_t>(size_));
  STOKER_MPI(
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, records.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
  local_ranks_ = {0, 0, 0, 0};
  for (int r = 0; r < size_; ++r) {
    const HostRecord& record = records[static_cast<std::size_t>(r)];
    hosts_.emplace_back(record.host);
    if (record.node != mine.node) continue;
    const bool shares = share_cores(record, mine);
    if (r < rank_) {
      ++local_ranks_.node_rank;
      local_ranks_.mask_rank += shares;
    }
    ++local_ranks_.node_size;
    local_ranks_.mask_size += shares;
  }
}

void MpiCommunicator::start_watchdog(const WatchdogOptions& options) {
  if (size_ == 1) return;
  // Several pulses within the deadline, so that one late is no reason.
  const double interval = std::min(1.0, options.silent_seconds / 6);
  pulse_interval_ns_ = static_cast<std::int64_t>(interval * 1e9);
  wake();
  watchdog_ = std::make_unique<Watchdog>(
      *peers_, hosts_, options, [this] { wake(); }, [this](int code) { abort(code); });
}

// -- The training thread.
// -------------------------------------------------------------------------------------------

void MpiCommunicator::wake() {
  // The lock makes sure that the communication thread is either before its look at the state or asleep.
  { const std::lock_guard lock(mutex_); }
  work_.notify_one();
}

void MpiCommunicator::set_activity(std::int64_t step, std::string_view activity) {
  peers_->set_activity(step, activity);
}

void MpiCommunicator::prepare_sums(int leaves, SumMode mode) {
  const std::lock_guard lock(mutex_);
  if (sums_ && sums_->posted() != 0) throw std::invalid_argument("prepare_sums: sums are in flight");
  bytes_before_ = counters_.bytes_sent;
  sums_ = std::make_shared<SumQueue>(rank_, size_, leaves, mode, sums_comm_, mutex_);
}

std::int64_t MpiCommunicator::sum_scratch_bytes() const {
  const std::lock_guard lock(mutex_);
  return sums_ ? sums_->scratch_bytes() : 0;
}

void MpiCommunicator::begin_sum(const SumRequest& request) {
  peers_->count_collective();
  {
    const std::lock_guard lock(mutex_);
    if (!sums_) throw std::invalid_argument("begin_sum before prepare_sums");
    sums_->post(request);
    ++counters_.requests;
    if (!busy_) busy_since_ = Clock::now();
    busy_ = true;
  }
  work_.notify_one();
}

void MpiCommunicator::wait_until(const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  caller_waits_ = true;
  work_.notify_one();
  finished_.wait(lock, [&] { return failure_ || done(); });
  caller_waits_ = false;
  if (failure_) std::rethrow_exception(failure_);
}

WaitTime MpiCommunicator::wait_all() {
  const Clock::time_point begin = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    peers_->enter_wait();
    all_came_known_ = false;
  }
  wait_until([&] { return !sums_ || sums_->all_complete(); });
  peers_->leave_wait();
  const Clock::time_point end = Clock::now();
  const std::lock_guard lock(mutex_);
  if (sums_) sums_->forget();
  const Clock::time_point came = all_came_known_ ? std::clamp(all_came_, begin, end) : end;
  const WaitTime time{std::chrono::nanoseconds(end - begin).count(),
                      std::chrono::nanoseconds(came - begin).count()};
  counters_.exposed += time.exposed;
  counters_.straggler += time.straggler;
  return time;
}

SumCounters MpiCommunicator::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void MpiCommunicator::run_blocking(std::function<void(MPI_Request*)> start) {
  BlockingCall call{std::move(start)};
  peers_->count_collective();
  peers_->enter_wait();
  {
    const std::lock_guard lock(mutex_);
    blocking_ = &call;
  }
  wait_until([&] { return blocking_ == nullptr; });
  peers_->leave_wait();
}

void MpiCommunicator::barrier() {
  run_blocking([this](MPI_Request* request) { STOKER_MPI(MPI_Ibarrier(blocking_comm_, request)); });
}

void MpiCommunicator::broadcast(void* data, std::int64_t bytes, int root) {
  for (std::int64_t begin = 0; begin < bytes; begin += kBroadcastPiece) {
    const int size = static_cast<int>(std::min(kBroadcastPiece, bytes - begin));
    char* const piece = static_cast<char*>(data) + begin;
    run_blocking([this, piece, size, root](MPI_Request* request) {
      STOKER_MPI(MPI_Ibcast(piece, size, MPI_BYTE, root, blocking_comm_, request));
    });
  }
}

std::vector<std::string> MpiCommunicator::all_gather(std::string_view mine) {
  const auto world = static_cast<std::size_t>(size_);
  std::int64_t length = static_cast<std::int64_t>(mine.size());
  std::vector<std::int64_t> lengths(world);
  run_blocking([&](MPI_Request* request) {
    STOKER_MPI(
        MPI_Iallgather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, blocking_comm_, request));
  });
  std::int64_t total = 0;
  std::vector<int> counts(world), offsets(world);
  for (std::size_t r = 0; r < world; ++r) {
    if (total + lengths[r] > INT32_MAX) throw SystemError("all_gather failed", "more than 2 GiB in all");
    counts[r] = static_cast<int>(lengths[r]);
    offsets[r] = static_cast<int>(total);
    total += lengths[r];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  run_blocking([&](MPI_Request* request) {
    STOKER_MPI(MPI_Iallgatherv(mine.data(), counts[static_cast<std::size_t>(rank_)], MPI_BYTE, all.data(),
                               counts.data(), offsets.data(), MPI_BYTE, blocking_comm_, request));
  });
  std::vector<std::string> parts;
  for (std::size_t r = 0; r < world; ++r)
    parts.push_back(all.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(counts[r])));
  return parts;
}

// -- The end.
// -------------------------------------------------------------------------------------------------------

void MpiCommunicator::abort(int code) {
  // The communication thread makes the call; should it be stuck inside MPI, this thread does.
  abort_code_ = code;
  wake();
  if (std::this_thread::get_id() != thread_.get_id()) std::this_thread::sleep_for(std::chrono::seconds(2));
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

int MpiCommunicator::finish(int code) {
  std::int64_t agreed = code;
  reduce(std::span(&agreed, 1), ReduceOperation::maximum);
  barrier();
  stop_thread();
  pulses_->drain();
  for (MPI_Comm* communicator : {&sums_comm_, &blocking_comm_, &pulse_comm_})
    STOKER_MPI(MPI_Comm_free(communicator));
  if (watchdog_) watchdog_->guard_finalize();
  STOKER_MPI(MPI_Finalize());
  watchdog_.reset();
  return static_cast<int>(agreed);
}

void MpiCommunicator::stop_thread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  if (thread_.joinable()) thread_.join();
}

MpiCommunicator::~MpiCommunicator() {
  watchdog_.reset();
  stop_thread();
}

// -- The communication thread.
// --------------------------------------------------------------------------------------

void MpiCommunicator::loop() {
  ::prctl(PR_SET_NAME, "stoker-comm");
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; the default of 50 us would double the shortest naps
  int idle_turns = 0;
  try {
    while (true) {
      stop_if_aborting();
      idle_turns = turn() ? 0 : idle_turns + 1;
      {
        const std::lock_guard lock(mutex_);
        if (stop_) return;
      }
      if (idle_turns > 0) nap(idle_turns);
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    finished_.notify_all();
  }
  // Left: to make the MPI_Abort that follows.
  while (true) {
    stop_if_aborting();
    std::unique_lock lock(mutex_);
    if (work_.wait_for(lock, std::chrono::milliseconds(10), [&] { return stop_; })) return;
  }
}

void MpiCommunicator::stop_if_aborting() {
  const int code = abort_code_;
  if (code < 0) return;
  MPI_Abort(MPI_COMM_WORLD, code);
  std::_Exit(code);
}

bool MpiCommunicator::turn() {
  const Clock::time_point now = Clock::now();
  std::shared_ptr<SumQueue> sums;
  {
    const std::lock_guard lock(mutex_);
    sums = sums_;
  }
  bool progress = sums && sums->work();
  progress |= poll_blocking();
  pulses_->set_interval(std::chrono::nanoseconds(pulse_interval_ns_.load()));
  const bool pulse_due = now >= pulses_->next_due();
  progress |= pulses_->poll(now);
  if (pulse_due) {
    std::fill(missing_.begin(), missing_.end(), 0);
    if (sums) sums->mark_missing(missing_);
    peers_->set_missing(missing_);
  }
  publish();
  return progress;
}

void MpiCommunicator::publish() {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (caller_waits_ && !all_came_known_ && peers_->all_came()) {
    all_came_ = now;
    all_came_known_ = true;
  }
  const bool sums_complete = !sums_ || sums_->all_complete();
  if (busy_ && sums_complete) {
    counters_.bytes_sent = bytes_before_ + sums_->bytes_sent();
    counters_.busy += std::chrono::nanoseconds(now - busy_since_).count();
    busy_ = false;
  }
  if (caller_waits_ && sums_complete && blocking_ == nullptr) finished_.notify_all();
}

bool MpiCommunicator::poll_blocking() {
  BlockingCall* call = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (blocking_ == nullptr || (sums_ && !sums_->all_complete())) return false;
    call = blocking_;
  }
  if (!call->started) {
    call->start(&call->request);
    call->started = true;
  }
  int done = 0;
  STOKER_MPI(MPI_Test(&call->request, &done, MPI_STATUS_IGNORE));
  if (done == 0) return false;
  const std::lock_guard lock(mutex_);
  blocking_ = nullptr;
  return true;
}

void MpiCommunicator::nap(int idle_turns) {
  std::unique_lock lock(mutex_);
  const bool idle = blocking_ == nullptr && (!sums_ || sums_->all_complete());
  if (idle) {
    const std::size_t posted = sums_ ? sums_->posted() : 0;
    const auto woken = [&] {
      return stop_ || abort_code_ >= 0 || blocking_ != nullptr || peers_->urgent() ||
             (sums_ && sums_->posted() != posted);
    };
    work_.wait_until(lock, pulses_->next_due(), woken);
    return;
  }
  if (!caller_waits_) {
    work_.wait_for(lock, kNapWhileComputing, [&] { return stop_ || abort_code_ >= 0 || caller_waits_; });
    return;
  }
  lock.unlock();
  if (idle_turns <= kYields) {
    std::this_thread::yield();
    return;
  }
  const int lengths = 1 + (idle_turns - kYields) / kTurnsPerNapLength;
  std::this_thread::sleep_for(std::min(kLongestBlockedNap, kFirstBlockedNap * std::min(lengths, 100)));
}

}  // namespace stoker::comm
