#include "lib/comm/watchdog.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace stoker::comm {
namespace {

// How long a rank that noticed waits for a lower rank to claim the report, per rank below it.
constexpr double kTurnSeconds = 0.2;
constexpr int kMaxNamed = 8;

std::string name_of(const Observation& o, std::size_t r) {
  return fmt::format("rank {} ({})", r, o.hosts[r]);
}

std::string last_word(const Observation& o, std::size_t r) {
  return fmt::format("step {}, {}", o.pulses[r].step, o.pulses[r].activity);
}

std::string list(const Observation& o, const std::vector<std::size_t>& ranks, bool with_silence) {
  std::vector<std::string> parts;
  for (const std::size_t r : ranks) {
    if (parts.size() == kMaxNamed) {
      parts.push_back(fmt::format("{} more", ranks.size() - kMaxNamed));
      break;
    }
    parts.push_back(with_silence ? fmt::format("{}, last heard of {:.0f} s ago in {}", name_of(o, r),
                                               o.silent[r], last_word(o, r))
                                 : fmt::format("{} in {}", name_of(o, r), last_word(o, r)));
  }
  return join(parts, "; ");
}

// "rank 0 (a) in step 7, all-reduce; …" of all ranks that are not accused.
std::string others(const Observation& o, const std::vector<std::size_t>& accused) {
  std::vector<std::size_t> rest;
  for (std::size_t r = 0; r < o.pulses.size(); ++r)
    if (std::find(accused.begin(), accused.end(), r) == accused.end()) rest.push_back(r);
  return list(o, rest, false);
}

template <typename Predicate>
std::vector<std::size_t> ranks_where(const Observation& o, Predicate predicate) {
  std::vector<std::size_t> ranks;
  for (std::size_t r = 0; r < o.pulses.size(); ++r)
    if (static_cast<int>(r) != o.rank && predicate(r)) ranks.push_back(r);
  return ranks;
}

}  // namespace

std::optional<std::string> diagnose(const Observation& o, const WatchdogOptions& options) {
  const auto self = static_cast<std::size_t>(o.rank);
  if (o.waited >= options.silent_seconds) {
    const auto silent = ranks_where(o, [&](std::size_t r) { return o.silent[r] >= options.silent_seconds; });
    if (!silent.empty())
      return fmt::format(
          "no sign of life from {}: {} waited {:.0f} s in step {}, the others were: {}: the process was "
          "stopped or its "
          "node or network is lost; run the job again, it goes on from the newest checkpoint",
          list(o, silent, true), name_of(o, self), o.waited, o.pulses[self].step, others(o, silent));
  }
  if (o.waited < options.stuck_seconds) return std::nullopt;
  const auto late =
      ranks_where(o, [&](std::size_t r) { return o.pulses[r].collectives < o.pulses[self].collectives; });
  if (!late.empty())
    return fmt::format(
        "a collective did not end: {} did not come to it for {:.0f} s, the others were: {}: look at what "
        "that rank does "
        "(a slow file system, a full disk); run the job again, it goes on from the newest checkpoint",
        list(o, late, false), o.waited, others(o, late));
  const auto lost = ranks_where(o, [&](std::size_t r) { return o.missing[r] != 0; });
  return fmt::format(
      "a collective did not end: all ranks came to it, but after {:.0f} s {} waits for {}: a fault of the "
      "network or of "
      "MPI; run the job again, it goes on from the newest checkpoint",
      o.waited, name_of(o, self), lost.empty() ? "its end" : "the message of " + list(o, lost, false));
}

Watchdog::Watchdog(PeerTable& table, const std::vector<std::string>& hosts, const WatchdogOptions& options,
                   std::function<void()> wake, std::function<void(int)> end_job)
    : table_(table),
      options_(options),
      tick_seconds_(std::clamp(options.silent_seconds / 20, 0.02, 1.0)),
      wake_(std::move(wake)),
      end_job_(std::move(end_job)) {
  seen_.rank = table.rank();
  seen_.hosts = hosts;
  seen_.silent.assign(hosts.size(), 0);
  seen_.pulses = table.snapshot().pulses;
  // Signals are the training thread's.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_signal_.notify_all();
  thread_.join();
}

void Watchdog::guard_finalize() {
  const std::lock_guard lock(mutex_);
  finalizing_ = true;
}

bool Watchdog::pause(double seconds) {
  std::unique_lock lock(mutex_);
  return !stop_signal_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return stop_; });
}

void Watchdog::loop() {
  while (pause(tick_seconds_)) tick();
}

void Watchdog::tick() {
  bool finalizing = false;
  {
    const std::lock_guard lock(mutex_);
    finalizing = finalizing_;
  }
  if (finalizing) {
    finalizing_for_ += tick_seconds_;
    if (finalizing_for_ < options_.silent_seconds) return;
    if (seen_.rank == 0)
      say_error(fmt::format(
          "MPI_Finalize did not return within {:.0f} s: rank 0 ({}): all work was done before; look "
          "for a stopped process or a lost node",
          options_.silent_seconds, seen_.hosts[0]));
    std::_Exit(kExitSystem);
  }
  const PeerTable::Snapshot now = table_.snapshot();
  for (std::size_t r = 0; r < now.pulses.size(); ++r) {
    const bool heard = static_cast<int>(r) == seen_.rank || now.pulses[r].beats != seen_.pulses[r].beats;
    seen_.silent[r] = heard ? 0 : seen_.silent[r] + tick_seconds_;
  }
  seen_.pulses = now.pulses;
  seen_.missing = now.missing;
  const std::int64_t wait_number = now.pulses[static_cast<std::size_t>(seen_.rank)].waits;
  const bool same_wait = now.waiting && wait_number == wait_number_;
  seen_.waited = same_wait ? seen_.waited + tick_seconds_ : 0;
  wait_number_ = wait_number;
  if (const auto line = diagnose(seen_, options_)) report(*line);
}

// One rank must print. Each that noticed waits its turn by rank, then claims the report at all peers, and
// prints if no other claimed before, nor a lower one at the same time.
void Watchdog::report(const std::string& line) {
  const auto claimed_by_other = [&](int below) {
    const std::vector<Pulse> pulses = table_.snapshot().pulses;
    for (int r = 0; r < below; ++r)
      if (r != seen_.rank && pulses[static_cast<std::size_t>(r)].claims_report != 0) return true;
    return false;
  };
  int turn = 0;
  for (int r = 0; r < seen_.rank; ++r)
    if (seen_.silent[static_cast<std::size_t>(r)] < options_.silent_seconds) ++turn;
  if (!pause(std::min(turn * kTurnSeconds, 2.0))) return;
  // The collective may have ended meanwhile.
  const PeerTable::Snapshot now = table_.snapshot();
  if (!now.waiting || now.pulses[static_cast<std::size_t>(seen_.rank)].waits != wait_number_) return;
  bool silent = claimed_by_other(table_.size());
  if (!silent) {
    table_.claim_report();
    wake_();
    if (!pause(kTurnSeconds)) return;
    silent = claimed_by_other(seen_.rank);
  }
  if (!silent)
    say_error(line);
  else if (!pause(10))  // whoever claimed ends the job; if it does not, this rank does
    return;
  end_job_(kExitSystem);
}

}  // namespace stoker::comm
