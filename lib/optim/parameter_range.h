// The table that describes the flat parameter buffer, and what Keras attaches to a single weight: a
// regulariser and a constraint.
//
// The flat buffers (parameters, gradients, every optimizer slot) are fp32 and laid out alike: element i of
// one belongs to element i of the others. Weights lie in Keras' layout, row-major.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::optim {

// Adds l1·Σ|w| + l2·Σw² to the loss (keras.regularizers: no ½).
struct Regularizer {
  float l1 = 0, l2 = 0;
  bool empty() const { return l1 == 0 && l2 == 0; }
};

// What is done to a weight after every update (keras.constraints). The norms are over `axes` (negative ones
// count from the end), with Keras' epsilon 1e-7 in the divisor:
//   max_norm      w · min(norm, max_value) / (1e-7 + norm)
//   unit_norm     w / (1e-7 + norm)
//   min_max_norm  w · (rate·clip(norm, min_value, max_value) + (1 - rate)·norm) / (1e-7 + norm)
struct Constraint {
  enum class Kind { none, non_negative, max_norm, unit_norm, min_max_norm };
  Kind kind = Kind::none;
  float min_value = 0, max_value = 0, rate = 1;
  std::vector<int> axes;
};

struct ParameterRange {
  std::string name;
  std::int64_t offset = 0;  // elements from the start of the flat buffers
  std::int64_t size = 0;    // elements; the product of `shape`
  std::vector<std::int64_t> shape;
  bool trainable =
      true;  // a range that is not is left alone by everything in lib/optim, regularisers included
  Regularizer regularizer;
  Constraint constraint;
};

// From a layer's config: null, a name ("l2": Keras' default 0.01), or {class_name, config} in the Keras 2 or
// 3 spelling. Throws UserError naming `where` (file, layer and option) for what is not known.
Regularizer regularizer_from_keras(const nlohmann::json& config, std::string_view where);
Constraint constraint_from_keras(const nlohmann::json& config, std::string_view where);

// The sum of the ranges' regularisation terms, to be added once to the loss of the global batch. In double,
// in a fixed order whatever the number of threads. Frozen weights add nothing (as in Keras 3).
double regularization_loss(std::span<const ParameterRange> ranges, const float* parameters);

// Applies every trainable range's constraint; Optimizer::update() does this itself.
void apply_constraints(std::span<const ParameterRange> ranges, float* parameters);

// Σx², in double, by chunks of fixed size added in a fixed order: the same bits whatever the number of
// threads.
double sum_of_squares(const float* values, std::int64_t count);

}  // namespace stoker::optim
