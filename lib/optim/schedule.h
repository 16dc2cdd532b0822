// Learning-rate schedules: pure functions of the number of updates done before (from 0, as Keras'
// `iterations`), so a resumed run needs no state. Formulas:
// keras/src/optimizers/schedules/learning_rate_schedule.py.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::optim {

class Schedule {
 public:
  // constant     value
  // step         values[i] for boundaries[i-1] < step <= boundaries[i] (PiecewiseConstantDecay)
  // cosine       ((1 - alpha)·½(1 + cos(π·min(step, decay_steps) / decay_steps)) + alpha) · value
  // exponential  value · decay_rate^(step / decay_steps); the exponent is floored with staircase
  // With warmup_steps w > 0, step < w gives warmup_start + (value - warmup_start)·step / w, and everything
  // above counts from step w. (Keras' CosineDecay with warmup_target: warmup_start is its initial rate, value
  // its target.)
  enum class Kind { constant, step, cosine, exponential };

  // The rate is fp32, as what an optimizer multiplies with; computed in double.
  float learning_rate(std::int64_t step) const;
  // The step from which on the rate no longer changes by design: the end of a cosine, the last boundary of a
  // step schedule, the end of a warm-up; nothing for an exponential decay.
  std::optional<std::int64_t> length() const;
  // True when the length came from the length of the run instead of an option: a longer run then runs out of
  // schedule.
  bool length_from_run() const { return length_from_run_; }
  // One fixed spelling of everything above, which parse_schedule() reads: equal texts, equal schedules.
  std::string describe() const;

  static Schedule constant(double learning_rate);

 private:
  friend Schedule parse_schedule(std::string_view text, double learning_rate, std::int64_t total_steps);
  friend Schedule schedule_from_keras(const nlohmann::json& config, std::string_view where);

  Kind kind_ = Kind::constant;
  double value_ = 0;
  std::int64_t warmup_steps_ = 0;
  double warmup_start_ = 0;
  double decay_steps_ = 0, decay_rate_ = 0, alpha_ = 0;
  bool staircase_ = false;
  std::vector<std::int64_t> boundaries_;
  std::vector<double> values_;
  bool length_from_run_ = false;
};

// From `--schedule NAME[:k=v,…]`, with `learning_rate` from --learning-rate (or the optimizer) and the steps
// of the run:
//   constant[:warmup_steps=W]
//   step:boundaries=B/B/…,values=V/V/…           one value more than boundaries; or factor=F instead of
//                                                values: the rate times F at every boundary
//   cosine[:decay_steps=D][,alpha=A]             D is otherwise the run's steps less the warm-up
//   exponential:decay_steps=D,decay_rate=R[,staircase=true]
// and with each warmup_steps=W, warmup_start=S (0): a linear warm-up from S. `cosine` also takes Keras'
// warmup_target=T: from learning_rate to T. learning_rate=X overrides the argument. Throws UserError on
// anything else.
Schedule parse_schedule(std::string_view text, double learning_rate, std::int64_t total_steps);

// From a Keras config: ExponentialDecay, CosineDecay, PiecewiseConstantDecay as {"class_name", "config"}.
// Throws UserError naming `where` for any other.
Schedule schedule_from_keras(const nlohmann::json& config, std::string_view where);

}  // namespace stoker::optim
