#include "lib/keras/losses_metrics.h"

#include <algorithm>

#include "lib/base/error.h"
#include "lib/keras/json_access.h"
#include "lib/keras/loss_config.h"
#include "lib/keras/metric_config.h"

namespace stoker::keras {
namespace {

using graph::LossAttributes;
using graph::LossKind;

const nlohmann::json& config_member(const Model& model, const char* key) {
  static const nlohmann::json kNull;
  if (!model.training_config || is_null_or_absent(*model.training_config, key)) return kNull;
  return (*model.training_config)[key];
}

bool one_number(const TargetDescription& target) { return target.shape.elements() == 1; }

// The activation that makes the model's output, by Keras' name; "linear" where none does.
std::string output_activation(const Model& model) {
  std::size_t call = model.output_call;
  while (model.layers[model.calls[call].layer]->class_name == "Dropout") call = model.calls[call].inputs[0];
  const Layer& layer = *model.layers[model.calls[call].layer];
  if (layer.class_name == "Softmax") return "softmax";
  return text_or(layer.config(), "activation", "linear");
}

struct Choice {
  LossAttributes loss;
  std::string how;
};

Choice choose_loss(const Model& model, const TargetDescription& target) {
  const Shape& output = model.output_shape();
  const std::string activation = output_activation(model);
  Choice choice;
  if (output.back() > 1 && target.integer_labels && one_number(target)) {
    choice.loss.kind = LossKind::sparse_categorical_crossentropy;
    choice.loss.from_logits = activation != "softmax";
  } else if (activation == "softmax") {
    choice.loss.kind = LossKind::categorical_crossentropy;
  } else if (activation == "sigmoid") {
    choice.loss.kind = LossKind::binary_crossentropy;
  }
  choice.how = "chosen: " + activation + " output of " + to_string(output) + " and " +
               (target.integer_labels ? "class numbers" : "targets of shape " + to_string(target.shape));
  return choice;
}

void check_loss_weights(const nlohmann::json& weights, const std::string& file) {
  const nlohmann::json& weight = weights.is_structured() && weights.size() == 1 ? weights.front() : weights;
  if (weight.is_null() || weight == 1.0) return;
  throw UserError("unsupported value loss_weights=" + weights.dump(), file + ": training configuration",
                  "compile without loss_weights, or give the loss with --loss");
}

Choice loss_of(const Model& model, const TargetDescription& target,
               const std::optional<std::string>& option) {
  if (option) return {loss_from_option(*option), "--loss"};
  if (const auto loss = loss_from_keras(config_member(model, "loss"), model.origin)) {
    check_loss_weights(config_member(model, "loss_weights"), model.origin);
    return {*loss, "the model file"};
  }
  if (!model.trained_with.loss.empty())
    return {loss_from_option(model.trained_with.loss), "what the model was trained with"};
  return choose_loss(model, target);
}

// Class numbers for a sparse loss, else numbers of the output's shape.
void set_targets(const Model& model, const TargetDescription& target, Objective& objective) {
  const Shape& output = model.output_shape();
  objective.label_targets = objective.loss.kind == LossKind::sparse_categorical_crossentropy;
  if (objective.label_targets) {
    if (!one_number(target))
      throw UserError("the loss " + objective.loss_text +
                          " takes one class number a sample, the targets have shape " +
                          to_string(target.shape),
                      target.where, "give class numbers, or use categorical_crossentropy");
    if (!target.integer_labels)
      throw UserError("the loss " + objective.loss_text + " takes whole class numbers, the labels are floats",
                      target.where, "store the labels as integers, or use another loss");
    if (output.rank() != 1 || output[0] < 2)
      throw UserError("the loss " + objective.loss_text +
                          " needs one score a class, the model's output has shape " + to_string(output),
                      model.origin, "give the last layer one unit a class, or use another loss");
    objective.classes = output[0];
    return;
  }
  const bool same = target.shape == output || (one_number(target) && output.elements() == 1);
  if (!same)
    throw UserError(
        "the targets have shape " + to_string(target.shape) + ", the model's output " + to_string(output),
        target.where,
        one_number(target) && target.integer_labels ? "use sparse_categorical_crossentropy for class numbers"
                                                    : "use a model whose last layer has the targets' shape");
  objective.target_shape = output;
}

std::vector<Metric> metrics_of(const Model& model, const MetricContext& context,
                               const std::optional<std::vector<std::string>>& option) {
  std::vector<Metric> found;
  const bool has_compile = model.training_config.has_value();
  if (option || !has_compile) {
    for (const std::string& text : option ? *option : model.trained_with.metrics)
      found.push_back(metric_from_option(text, context));
  } else {
    for (const char* key : {"metrics", "weighted_metrics"})  // the same thing: samples have no weights here
      for (Metric& metric : metrics_from_keras(config_member(model, key), context, model.origin))
        found.push_back(std::move(metric));
  }
  // A line shows each name once, beside "loss".
  std::vector<Metric> metrics;
  for (Metric& metric : found) {
    if (metric.name == "loss") metric.name = metric.resolved;
    const auto same = [&](const Metric& other) { return other.name == metric.name; };
    if (std::none_of(metrics.begin(), metrics.end(), same)) metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace

Objective resolve_objective(const Model& model, const TargetDescription& target,
                            const std::optional<std::string>& loss,
                            const std::optional<std::vector<std::string>>& metrics) {
  if (model.output_shape().rank() == 0)
    throw UserError("the model's output has no axis besides the batch", model.origin,
                    "end the model with a layer that has units");
  Choice choice = loss_of(model, target, loss);
  Objective objective;
  objective.loss = choice.loss;
  objective.loss_text = loss_text(choice.loss);
  objective.how = std::move(choice.how);
  set_targets(model, target, objective);
  objective.metrics = metrics_of(model, {objective.label_targets, model.output_shape().back()}, metrics);
  return objective;
}

std::optional<nlohmann::json> file_optimizer(const Model& model) {
  for (const char* key : {"optimizer_config", "optimizer"}) {
    const nlohmann::json& optimizer = config_member(model, key);
    if (optimizer.is_object()) return optimizer;
    if (optimizer.is_string())  // by name: with its defaults
      return nlohmann::json{{"class_name", optimizer}, {"config", nlohmann::json::object()}};
  }
  return std::nullopt;
}

}  // namespace stoker::keras
