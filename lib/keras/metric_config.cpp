#include "lib/keras/metric_config.h"

#include <algorithm>
#include <array>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/keras/json_access.h"
#include "lib/keras/layers/config_reader.h"
#include "lib/keras/loss_config.h"

namespace stoker::keras {
namespace {

using graph::MetricAttributes;
using graph::MetricKind;

struct MetricEntry {
  const char* name;
  MetricKind kind;
  bool labels;  // takes class numbers; else targets of the output's shape
};
constexpr std::array<MetricEntry, 7> kMetrics = {{
    {"binary_accuracy", MetricKind::binary_accuracy, false},
    {"categorical_accuracy", MetricKind::categorical_accuracy, false},
    {"sparse_categorical_accuracy", MetricKind::sparse_categorical_accuracy, true},
    {"top_k_categorical_accuracy", MetricKind::top_k_categorical_accuracy, false},
    {"sparse_top_k_categorical_accuracy", MetricKind::sparse_top_k_categorical_accuracy, true},
    {"mean_absolute_error", MetricKind::mean_absolute_error, false},
    {"mean_squared_error", MetricKind::mean_squared_error, false},
}};

bool is_accuracy(const std::string& name) { return name == "accuracy" || name == "acc"; }
bool is_top_k(MetricKind kind) {
  return kind == MetricKind::top_k_categorical_accuracy ||
         kind == MetricKind::sparse_top_k_categorical_accuracy;
}

// "accuracy" and "top5" say no kind of targets: the shapes do.
std::string resolved_name(const std::string& name, const MetricContext& context) {
  if (is_accuracy(name)) {
    if (context.label_targets) return "sparse_categorical_accuracy";
    return context.last_axis == 1 ? "binary_accuracy" : "categorical_accuracy";
  }
  for (const char* top : {"top5", "top_5", "top_k", "top_k_accuracy"})
    if (name == top)
      return context.label_targets ? "sparse_top_k_categorical_accuracy" : "top_k_categorical_accuracy";
  return name;
}

Metric make_metric(const std::string& shown, const std::string& name, const MetricContext& context,
                   const std::string& where) {
  const std::string resolved = resolved_name(function_name(name), context);
  const auto* entry = std::find_if(kMetrics.begin(), kMetrics.end(),
                                   [&](const MetricEntry& candidate) { return resolved == candidate.name; });
  if (entry == kMetrics.end()) {
    std::vector<std::string> known = {"accuracy", "top5"};
    for (const MetricEntry& candidate : kMetrics) known.push_back(candidate.name);
    throw UserError("unknown metric " + name, where, "the metrics known are " + join(known, ", "));
  }
  if (entry->labels != context.label_targets)
    throw UserError("the metric " + resolved + " needs " +
                        (entry->labels ? "class numbers" : "targets of the output's shape") +
                        ", the targets are " + (entry->labels ? "of the output's shape" : "class numbers"),
                    where, "use accuracy, which fits both, or another metric");
  Metric metric;
  metric.name = shown;
  metric.attributes.kind = entry->kind;
  metric.resolved = resolved;
  return metric;
}

void set_option(Metric& metric, const std::string& key, const nlohmann::json& value,
                const std::string& where) {
  MetricAttributes& attributes = metric.attributes;
  if (key == "k" && is_top_k(attributes.kind)) {
    if (!value.is_number_integer() || value < 1)
      throw UserError("k=" + value.dump() + " of the metric " + metric.name, where,
                      "give a whole number ≥ 1");
    attributes.k = value.get<std::int64_t>();
  } else if (key == "threshold" && attributes.kind == MetricKind::binary_accuracy) {
    if (!value.is_number())
      throw UserError("threshold=" + value.dump() + " of the metric " + metric.name, where, "give a number");
    attributes.threshold = value.get<float>();
  } else if (key != "name" && key != "fn" && !(key == "dtype" && (value.is_null() || value == "float32"))) {
    throw UserError("the metric " + metric.name + " has no option " + key, where,
                    "see Keras' arguments of it");
  }
}

void finish_text(Metric& metric) {
  const MetricAttributes defaults;
  if (metric.attributes.k != defaults.k) metric.resolved += ":k=" + std::to_string(metric.attributes.k);
  if (metric.attributes.threshold != defaults.threshold)
    metric.resolved += ":threshold=" + format_double(shortest(metric.attributes.threshold));
}

Metric metric_from_json(const nlohmann::json& json, const MetricContext& context, const std::string& where) {
  if (json.is_string()) return make_metric(json.get<std::string>(), json.get<std::string>(), context, where);
  const std::string class_name = text_member(json, "class_name", where);
  const nlohmann::json config = json.contains("config") ? json["config"] : nlohmann::json::object();
  if (class_name == "function" && config.is_string()) return metric_from_json(config, context, where);
  const std::string name = text_or(config, "name", class_name);
  // Keras 2 resolves "accuracy" when it compiles; here the data of this run decide.
  const std::string function =
      is_accuracy(name) || class_name == "Accuracy" ? "accuracy" : text_or(config, "fn", class_name);
  Metric metric = make_metric(name, function, context, where);
  if (config.is_object())
    for (const auto& [key, value] : config.items()) set_option(metric, key, value, where);
  finish_text(metric);
  return metric;
}

void collect(const nlohmann::json& json, const MetricContext& context, const std::string& where,
             std::vector<Metric>& metrics) {
  if (json.is_null()) return;
  if (json.is_array() || (json.is_object() && !json.contains("class_name"))) {
    for (const nlohmann::json& item : json) collect(item, context, where, metrics);
    return;
  }
  try {
    metrics.push_back(metric_from_json(json, context, where));
  } catch (const UserError& error) {
    warning("a metric of the file is left out: {}", error.what());
  }
}

}  // namespace

Metric metric_from_option(const std::string& text, const MetricContext& context) {
  const NamedOptions options = parse_named_options(text, "--metrics");
  const std::string where = "--metrics " + text;
  Metric metric = make_metric(options.name, options.name, context, where);
  for (const auto& [key, value] : options.values) {
    nlohmann::json number = value;
    if (const auto whole = parse_int(value))
      number = *whole;
    else if (const auto real = parse_double(value))
      number = *real;
    set_option(metric, key, number, where);
  }
  finish_text(metric);
  return metric;
}

std::vector<Metric> metrics_from_keras(const nlohmann::json& metrics, const MetricContext& context,
                                       const std::string& file) {
  std::vector<Metric> found;
  collect(metrics, context, file + ": training configuration", found);
  return found;
}

}  // namespace stoker::keras
