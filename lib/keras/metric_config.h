// Metrics by Keras' names, resolved by the shapes of output and targets as Keras does.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/keras/losses_metrics.h"

namespace stoker::keras {

// What a metric sees of output and targets.
struct MetricContext {
  bool label_targets = true;   // one class number a sample
  std::int64_t last_axis = 1;  // of the output
};

// `NAME[:k=v,…]` of --metrics. Throws UserError for unknown names and keys, and for a metric that does not
// fit the targets ("categorical_accuracy" of class numbers).
Metric metric_from_option(const std::string& text, const MetricContext& context);

// "metrics" of a training_config, in any of the forms that Keras 2 and 3 write. One that is not supported or
// does not fit is left out with a warning: it changes nothing in the training.
std::vector<Metric> metrics_from_keras(const nlohmann::json& metrics, const MetricContext& context,
                                       const std::string& file);

}  // namespace stoker::keras
