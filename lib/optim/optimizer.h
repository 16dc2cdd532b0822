// Optimizers with the numbers, names and defaults of Keras 3 (keras/src/optimizers): SGD, Adam, AdamW,
// RMSprop.
//
// An optimizer is immutable; its state is outside it, in flat "slot" buffers laid out as the parameters, and
// the count of updates. So a memory plan can size the state and a checkpoint can name it before the first
// step.
//
// One update, as in Keras: g += regulariser's gradient (2·l2·w + l1·sign(w)); clipping (one of clipnorm, per
// range; global_clipnorm, over all; clipvalue, per element); decay w -= w·weight_decay·lr on every range; the
// step; the constraints. The result has the same bits whatever the number of OpenMP threads: every sum is
// over chunks of fixed size in a fixed order, the rest is element by element. Constants are rounded to fp32
// where Keras rounds them.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/text.h"
#include "lib/optim/parameter_range.h"
#include "lib/optim/schedule.h"

namespace stoker::optim {

// Clipping and decay, common to all. A value that is not positive is "off", as in Keras.
struct CommonOptions {
  std::optional<double> weight_decay, clipnorm, clipvalue, global_clipnorm;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // "sgd", "adam", "adamw", "rmsprop".
  std::string_view name() const { return name_; }
  // The name and all options but the learning rate, in one fixed spelling that optimizer_from_options()
  // reads: equal texts, equal optimizers.
  std::string describe() const;

  // Flat fp32 buffers of the parameters' length, all zero before the first update. Keras' names: "momentum",
  // "velocity", …
  int slot_count() const { return static_cast<int>(slot_names_.size()); }
  const std::string& slot_name(int slot) const { return slot_names_[static_cast<std::size_t>(slot)]; }

  // One update of all trainable ranges. `step` counts the updates done before (Keras' `iterations`, from 0).
  // `slots` has slot_count() buffers. `gradients` is that of the loss alone, without regularisers; it is not
  // changed. Returns the norm over all gradients as Keras' global_clipnorm sees it (regularisers included,
  // before clipping) if global_clipnorm is on, else nothing. Blocking; uses the calling thread's OpenMP team.
  std::optional<double> update(std::int64_t step, float learning_rate, std::span<const ParameterRange> ranges,
                               float* parameters, const float* gradients,
                               std::span<float* const> slots) const;

  const CommonOptions& common() const { return common_; }

 protected:
  Optimizer(std::string name, CommonOptions common) : name_(std::move(name)), common_(common) {}

  // What is done to a gradient on its way into the step, the same for all elements of a range.
  struct RangeUpdate;
  // The step on one chunk of `count` elements; all pointers are at the chunk's first element.
  virtual void update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters,
                            const float* gradients, float* const* slots) const = 0;
  // Its own options, "key=value" each, in a fixed order.
  virtual std::vector<std::string> own_options() const = 0;

  std::vector<std::string> slot_names_;

 private:
  std::string name_;
  CommonOptions common_;
};

// An optimizer and the learning rate that came with it.
struct OptimizerChoice {
  std::unique_ptr<Optimizer> optimizer;
  double learning_rate = 0;  // as given, else Keras' default (SGD 0.01, others 0.001)
  std::optional<Schedule>
      schedule;  // set when a Keras file holds a LearningRateSchedule; learning_rate is then its first value
};

// From `--optimizer NAME[:k=v,…]`: Keras' argument names, learning_rate included. `clip_norm` is --clip-norm
// and stands for global_clipnorm. Throws UserError on an unknown name, key or value, and if more than one
// kind of clipping is given.
OptimizerChoice optimizer_from_options(const NamedOptions& options,
                                       std::optional<double> clip_norm = std::nullopt);

// From a Keras file: {"class_name", "config"} in the Keras 2 or 3 spelling, learning rate a number or a
// serialised LearningRateSchedule. `where` names the file. Throws UserError for a class, key or value that is
// not honoured (use_ema, loss_scale_factor, gradient_accumulation_steps, a non-zero `decay`, …), by name.
OptimizerChoice optimizer_from_keras(const nlohmann::json& config, std::string_view where,
                                     std::optional<double> clip_norm = std::nullopt);

}  // namespace stoker::optim
