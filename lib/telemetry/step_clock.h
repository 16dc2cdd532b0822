// Where the time of the training thread goes, in nanoseconds, by phase. The phases are exclusive, like a
// stack: entering one stops the clock of the one around it, leaving goes back to that. So the parts sum to
// the wall time exactly, and what no phase claims is `unexplained`.
//
//   StepClock clock;                                   // counts as start_up
//   clock.end_start_up();
//   { StepClock::Scope in(clock, Phase::forward); … }  // two reads of the monotonic clock, well below 1 µs
//
// One thread owns a StepClock and makes all calls on it. Nothing throws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stoker::telemetry {

enum class Phase : std::uint8_t {
  unexplained,
  start_up,
  input_wait,
  host_to_device,
  forward,
  backward,
  all_reduce,  // exposed: the device had nothing else to do
  optimizer,
  checkpoint_stall,
  evaluation,  // phases entered inside it count as it: the forward passes of a validation are no training
  logging,
};
inline constexpr std::size_t kPhases = 11;

std::string_view name_of(Phase phase);  // "input wait", for people
std::string_view key_of(Phase phase);   // "input_wait", for JSON

struct PhaseTimes {
  std::array<std::int64_t, kPhases> ns{};  // by Phase
  std::int64_t wall_ns = 0;                // the sum of ns
  std::int64_t hidden_all_reduce_ns = 0;   // ran beside the computing: not part of the wall time
  std::int64_t straggler_ns =
      0;  // that part of all_reduce in which this rank waited for the last one to arrive

  std::int64_t operator[](Phase phase) const { return ns[static_cast<std::size_t>(phase)]; }
  std::int64_t& operator[](Phase phase) { return ns[static_cast<std::size_t>(phase)]; }
  // Forward, backward and optimizer over the wall time: how busy the device was, 0 to 1.
  double busy() const;
  // What was added since an earlier reading of the same clock.
  PhaseTimes since(const PhaseTimes& earlier) const;
};

// Nanoseconds of the monotonic clock.
std::int64_t monotonic_ns();

class StepClock {
 public:
  StepClock();

  // From here on time outside every phase is unexplained. Called once, outside every phase.
  void end_start_up();

  // At most 15 phases deep.
  void enter(Phase phase);
  void leave();

  // Communication that the caller measured on another thread.
  void add_hidden_all_reduce(std::int64_t ns) { times_.hidden_all_reduce_ns += ns; }
  // Out of the exposed all-reduce time.
  void add_straggler(std::int64_t ns) { times_.straggler_ns += ns; }

  // The totals up to now, the open phase included.
  PhaseTimes read();

  class Scope {
   public:
    Scope(StepClock& clock, Phase phase) : clock_(clock) { clock_.enter(phase); }
    ~Scope() { clock_.leave(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    StepClock& clock_;
  };

 private:
  void charge();  // the time since last_ goes to the open phase

  static constexpr std::size_t kDepth = 16;
  std::array<Phase, kDepth> open_{};
  std::size_t depth_ = 0;  // open_[depth_] is running
  std::int64_t last_ = 0;
  PhaseTimes times_;
};

}  // namespace stoker::telemetry
