#include "lib/comm/mpi_communicator.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>

namespace stoker::comm {
namespace {

constexpr std::int64_t kBroadcastPiece = std::int64_t{1} << 30;
constexpr auto kDefaultPulseInterval = std::chrono::seconds(1);

}  // namespace

// -- Start-up.

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
  host_table_ = gather_hosts(rank_, size_);
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

void MpiCommunicator::start_watchdog(const WatchdogOptions& options) {
  if (size_ == 1) return;
  // Several pulses within the deadline, so that one late is no reason.
  const double interval = std::min(1.0, options.silent_seconds / 6);
  pulse_interval_ns_ = static_cast<std::int64_t>(interval * 1e9);
  wake();
  watchdog_ = std::make_unique<Watchdog>(
      *peers_, host_table_.hosts, options, [this] { wake(); }, [this](int code) { abort(code); });
}

// -- The training thread.

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

}  // namespace stoker::comm
