#include "lib/keras/loss_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/keras/json_access.h"
#include "lib/keras/layers/config_reader.h"
#include "lib/keras/snake_case.h"

namespace stoker::keras {
namespace {

using graph::LossAttributes;
using graph::LossKind;

struct LossEntry {
  const char* name;
  LossKind kind;
  bool from_logits, label_smoothing, delta;  // the options it has
};
constexpr std::array<LossEntry, 6> kLosses = {{
    {"sparse_categorical_crossentropy", LossKind::sparse_categorical_crossentropy, true, false, false},
    {"categorical_crossentropy", LossKind::categorical_crossentropy, true, true, false},
    {"binary_crossentropy", LossKind::binary_crossentropy, true, true, false},
    {"mean_squared_error", LossKind::mean_squared_error, false, false, false},
    {"mean_absolute_error", LossKind::mean_absolute_error, false, false, false},
    {"huber", LossKind::huber, false, false, true},
}};

struct Alias {
  const char *alias, *name;
};
constexpr std::array<Alias, 4> kAliases = {{{"mse", "mean_squared_error"},
                                            {"mae", "mean_absolute_error"},
                                            {"bce", "binary_crossentropy"},
                                            {"huber_loss", "huber"}}};

std::string known_losses() {
  std::vector<std::string> names;
  for (const LossEntry& entry : kLosses) names.push_back(entry.name);
  return join(names, ", ");
}

const LossEntry& find_loss(const std::string& name, const std::string& where) {
  const std::string wanted = function_name(name);
  for (const LossEntry& entry : kLosses)
    if (wanted == entry.name) return entry;
  throw UserError("unknown loss " + name, where, "the losses known are " + known_losses());
}

// One option, whatever it came from. Values that Keras writes and that change nothing are taken as such.
void set_option(const LossEntry& entry, const std::string& key, const nlohmann::json& value,
                const std::string& where, LossAttributes& loss) {
  const auto refuse = [&](const std::string& what_to_do) {
    throw UserError("unsupported value " + key + "=" + value.dump() + " of the loss " + entry.name, where,
                    what_to_do);
  };
  if (key == "from_logits" && entry.from_logits) {
    if (!value.is_boolean()) refuse("give true or false");
    loss.from_logits = value.get<bool>();
  } else if (key == "label_smoothing" && entry.label_smoothing) {
    if (!value.is_number() || value < 0.0 || value > 1.0) refuse("give a number from 0 to 1");
    loss.label_smoothing = value.get<float>();
  } else if (key == "delta" && entry.delta) {
    if (!value.is_number() || value <= 0.0) refuse("give a number above 0");
    loss.delta = value.get<float>();
  } else if (key == "reduction") {
    // Means over the batch, all the same without sample weights.
    constexpr std::array<const char*, 4> kMeans = {"auto", "sum_over_batch_size", "mean",
                                                   "mean_with_sample_weight"};
    if (std::find(kMeans.begin(), kMeans.end(), value) == kMeans.end())
      refuse("the loss is the mean over the batch");
  } else if (key == "axis") {
    if (value != -1) refuse("the classes must be the last axis");
  } else if (key == "ignore_class" || key == "dtype") {
    if (!value.is_null() && value != "float32") refuse("leave it at its default");
  } else if (key != "name" && key != "fn") {
    throw UserError("the loss " + std::string(entry.name) + " has no option " + key, where,
                    "see Keras' arguments of it");
  }
}

nlohmann::json value_of_text(const std::string& text) {
  const std::string small = lower(text);
  if (small == "true" || small == "false") return small == "true";
  if (small == "none" || small == "null") return nullptr;
  if (const auto number = parse_int(text)) return *number;
  if (const auto number = parse_double(text); number && std::isfinite(*number)) return *number;
  return text;
}

}  // namespace

std::string function_name(const std::string& name) {
  const bool has_small = std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  const std::string snake = has_small ? snake_case(name) : lower(name);
  for (const Alias& entry : kAliases)
    if (snake == entry.alias) return entry.name;
  return snake;
}

graph::LossAttributes loss_from_option(const std::string& text) {
  const NamedOptions options = parse_named_options(text, "--loss");
  const LossEntry& entry = find_loss(options.name, "--loss");
  LossAttributes loss;
  loss.kind = entry.kind;
  for (const auto& [key, value] : options.values)
    set_option(entry, key, value_of_text(value), "--loss " + text, loss);
  return loss;
}

std::optional<graph::LossAttributes> loss_from_keras(const nlohmann::json& loss, const std::string& file) {
  const std::string where = file + ": training configuration";
  if (loss.is_null()) return std::nullopt;
  if (loss.is_string()) {
    LossAttributes attributes;
    attributes.kind = find_loss(loss.get<std::string>(), where).kind;
    return attributes;
  }
  if (loss.is_array() || (loss.is_object() && !loss.contains("class_name"))) {
    if (loss.size() != 1)
      throw UserError("the file was compiled with " + std::to_string(loss.size()) + " losses", where,
                      "give one with --loss");
    return loss_from_keras(loss.is_array() ? loss[0] : loss.begin().value(), file);
  }
  const std::string class_name = text_member(loss, "class_name", where);
  if (class_name == "function" && loss.contains("config") && loss["config"].is_string())
    return loss_from_keras(loss["config"], file);
  const LossEntry& entry = find_loss(class_name, where);
  LossAttributes attributes;
  attributes.kind = entry.kind;
  if (loss.contains("config"))
    for (const auto& [key, value] : loss["config"].items()) set_option(entry, key, value, where, attributes);
  return attributes;
}

std::string loss_text(const graph::LossAttributes& loss) {
  const auto* entry =
      std::find_if(kLosses.begin(), kLosses.end(), [&](const LossEntry& e) { return e.kind == loss.kind; });
  std::vector<std::string> options;
  if (entry->delta && loss.delta != LossAttributes().delta)
    options.push_back("delta=" + format_double(shortest(loss.delta)));
  if (entry->from_logits && loss.from_logits) options.push_back("from_logits=true");
  if (entry->label_smoothing && loss.label_smoothing != 0.0f)
    options.push_back("label_smoothing=" + format_double(shortest(loss.label_smoothing)));
  return entry->name + (options.empty() ? std::string() : ":" + join(options, ","));
}

}  // namespace stoker::keras
