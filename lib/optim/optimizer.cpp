#include "lib/optim/optimizer.h"

#include <cmath>

#include "lib/kernels/optimizer_kernels.h"
#include "lib/optim/chunks.h"
#include "lib/optim/range_update.h"

namespace stoker::optim {
namespace {

bool is_on(const std::optional<double>& option) { return option && *option > 0; }

kernels::GradientRule rule_of(const ParameterRange& range) {
  kernels::GradientRule rule;
  rule.l1 = range.regularizer.l1;
  rule.l2 = range.regularizer.l2;
  return rule;
}

// Σg² of a range's gradient, its regulariser included.
double gradient_squares(const ParameterRange& range, const float* parameters, const float* gradients) {
  const float* const w = parameters + range.offset;
  const float* const g = gradients + range.offset;
  if (range.regularizer.empty()) return sum_of_squares(g, range.size);
  const kernels::GradientRule rule = rule_of(range);
  return sum_over_chunks(range.size, [&](std::int64_t begin, std::int64_t size) {
    return sum_in_lanes(begin, size, [&](std::int64_t i) {
      const double value = kernels::regularized_gradient(g[i], w[i], rule);
      return value * value;
    });
  });
}

// c / max(c, norm); NaN for a norm that is not finite, so that it is seen in the weights as in Keras.
float norm_scale(double norm, double clip) {
  if (!std::isfinite(norm)) return std::nanf("");
  return static_cast<float>(clip / std::max(clip, norm));
}

}  // namespace

std::string Optimizer::describe() const {
  std::vector<std::string> options = own_options();
  const auto add = [&](const char* key, const std::optional<double>& value) {
    if (value) options.push_back(std::string(key) + "=" + format_double(*value));
  };
  add("weight_decay", common_.weight_decay);
  add("clipnorm", common_.clipnorm);
  add("clipvalue", common_.clipvalue);
  add("global_clipnorm", common_.global_clipnorm);
  return options.empty() ? name_ : name_ + ":" + join(options, ",");
}

std::optional<double> Optimizer::update(std::int64_t step, float learning_rate,
                                        std::span<const ParameterRange> ranges, float* parameters,
                                        const float* gradients, std::span<float* const> slots) const {
  std::optional<double> global_norm;
  if (is_on(common_.global_clipnorm)) {
    double squares = 0;
    for (const ParameterRange& range : ranges)
      if (range.trainable) squares += gradient_squares(range, parameters, gradients);
    global_norm = std::sqrt(squares);
  }
  RangeUpdate common;
  common.step = step;
  common.learning_rate = learning_rate;
  common.weight_decay = static_cast<float>(common_.weight_decay.value_or(0));
  if (global_norm) common.rule.scale = norm_scale(*global_norm, *common_.global_clipnorm);
  if (is_on(common_.clipvalue)) common.rule.bound = static_cast<float>(*common_.clipvalue);

  const auto update_ranges = [&](std::span<const ParameterRange> some) {
    for_each_chunk(some, [&](const ParameterRange& range, std::int64_t begin, std::int64_t size) {
      RangeUpdate update = common;
      update.rule.l1 = range.regularizer.l1;
      update.rule.l2 = range.regularizer.l2;
      std::array<float*, kMaxSlots> chunk_slots{};
      for (std::size_t s = 0; s < slots.size(); ++s) chunk_slots[s] = slots[s] + begin;
      update_chunk(update, size, parameters + begin, gradients + begin, chunk_slots.data());
    });
  };
  if (is_on(common_.clipnorm)) {
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      if (!ranges[r].trainable) continue;
      const double norm = std::sqrt(gradient_squares(ranges[r], parameters, gradients));
      common.rule.scale = norm_scale(norm, *common_.clipnorm);
      update_ranges(ranges.subspan(r, 1));
    }
  } else {
    update_ranges(ranges);
  }
  apply_constraints(ranges, parameters);
  return global_norm;
}

}  // namespace stoker::optim
