#include "trainer/stop_signals.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "lib/base/log.h"
#include "lib/base/text.h"

namespace stoker::trainer {
namespace {

// Lock-free atomics: all that a handler may touch.
std::atomic<int> first_stop_signal{0};
std::atomic<bool> save_wanted{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void on_stop(int number, siginfo_t*, void*) {
  int none = 0;
  first_stop_signal.compare_exchange_strong(none, number);
}

void on_continue(int, siginfo_t* info, void*) {
  if (info->si_pid == ::getppid()) save_wanted.store(true);
}

void install(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

void install_stop_signals() {
  for (const int number : {SIGTERM, SIGINT, SIGUSR1}) install(number, on_stop);
  install(SIGCONT, on_continue);
}

bool stop_requested() { return first_stop_signal.load() != 0; }
int stop_signal() { return first_stop_signal.load(); }
bool take_save_request() { return save_wanted.exchange(false); }

std::optional<double> job_end_time() {
  for (const char* name : {"STOKER_DEADLINE", "SLURM_JOB_END_TIME"}) {
    const char* text = std::getenv(name);
    if (text == nullptr) continue;
    if (const std::optional<double> value = parse_double(text); value && *value > 0) return value;
    say_warning(std::string(name) + "=" + text +
                " is no time in seconds since 1970: the end of the job is not known");
  }
  return std::nullopt;
}

bool job_ends_within(double seconds) {
  static const std::optional<double> end = job_end_time();
  if (!end) return false;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return *end - static_cast<double>(now.tv_sec) - 1e-9 * static_cast<double>(now.tv_nsec) < seconds;
}

}  // namespace stoker::trainer
