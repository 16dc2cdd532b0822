#include "lib/keras/layers/config_reader.h"

#include <charconv>
#include <cmath>

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

const json kNull;

// Keys without effect on what the layer computes, at these values (a JSON list; empty: at any value).
struct Harmless {
  std::string_view key;
  std::string_view values;
};
const Harmless kHarmless[] = {
    {"activity_regularizer", "[null]"},
    {"adjustment", "[null]"},
    {"autocast", "[true]"},
    {"batch_input_shape", ""},  // Keras 2 has it on the first layer too; the InputLayer's counts
    {"batch_shape", ""},
    {"build_config", ""},
    {"data_format", R"(["channels_last", null])"},
    {"fused", ""},
    {"groups", "[1]"},  // where a layer has groups it reads the key itself
    {"input_dtype", R"(["float32", null])"},
    {"input_shape", ""},
    {"lora_alpha", "[null]"},
    {"lora_rank", "[null]"},
    {"noise_shape", "[null]"},
    {"optional", "[false]"},
    {"quantization_config", "[null]"},
    {"quantization_mode", "[null]"},
    {"ragged", "[false]"},
    {"renorm", "[false]"},
    {"renorm_clipping", "[null, {}]"},  // read only where renorm is true
    {"renorm_momentum", ""},
    {"seed", ""},  // the run's --seed rules
    {"sparse", "[false]"},
    {"synchronized", "[false]"},
    {"virtual_batch_size", "[null]"},
};

// Value 1.0 counts as 1 and the like: JSON equality of numbers is by value.
bool is_harmless(std::string_view key, const json& value) {
  for (const Harmless& entry : kHarmless) {
    if (entry.key != key) continue;
    if (entry.values.empty()) return true;
    for (const json& allowed : json::parse(entry.values)) {
      if (allowed == value) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> whole_number(const json& value) {
  constexpr double kLimit = 2147483648.0;  // 2^31
  if (!value.is_number()) return {};
  const double number = value.get<double>();
  if (std::trunc(number) != number || std::abs(number) >= kLimit) return {};
  return static_cast<std::int64_t>(number);
}

std::string brief(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

double shortest(float value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return parse_double({buffer, static_cast<std::size_t>(end - buffer)}).value();
}

ConfigReader::ConfigReader(const json& layer, const ParseContext& context)
    : config_(&kNull), context_(context), where_(context.file) {
  if (!layer.is_object() || !layer.contains("class_name") || !layer["class_name"].is_string()) {
    throw UserError("a layer without class_name", context.file, "save the model again with Keras");
  }
  class_name_ = layer["class_name"].get<std::string>();
  if (layer.contains("config")) config_ = &layer["config"];
  if (!config_->is_object()) {
    throw UserError("a layer without config", context.file + ": layer of class " + class_name_,
                    "save the model again with Keras");
  }
  read_.insert({"name", "trainable"});
  const json& outer = layer.contains("name") ? layer["name"] : kNull;
  const json& inner = config_->contains("name") ? (*config_)["name"] : outer;
  name_ = inner.is_string() ? inner.get<std::string>() : lower(class_name_);
  where_ = context.file + ": layer " + name_ + " (" + class_name_ + ")";
  check_origin(layer);
  trainable_ = boolean("trainable", true);
  check_dtype();
}

// A user's own class may be called Dense too: its module or registered name ("package>Dense") tells.
void ConfigReader::check_origin(const json& layer) const {
  const json& module = layer.contains("module") ? layer["module"] : kNull;
  const json& registered = layer.contains("registered_name") ? layer["registered_name"] : kNull;
  bool own = registered.is_string() && registered.get<std::string>().find('>') != std::string::npos;
  if (module.is_string()) {
    const std::string text = module.get<std::string>();
    const std::string root = text.substr(0, text.find('.'));
    own = own || (root != "keras" && root != "tf_keras" && root != "tensorflow");
  }
  if (own) {
    fail("a layer class that is not Keras' own", "use the layers of Keras, without classes of your own");
  }
}

// "float32", or a policy object of that name (Keras 2: Policy, Keras 3: DTypePolicy).
void ConfigReader::check_dtype() {
  const json& dtype = take("dtype");
  const json* name = &dtype;
  if (dtype.is_object() && dtype.contains("config") && dtype["config"].is_object() &&
      dtype["config"].contains("name")) {
    name = &dtype["config"]["name"];
  }
  if (!name->is_null() && *name != "float32") refuse("dtype", *name, "build the model with dtype float32");
}

const json& ConfigReader::take(std::string_view key) {
  read_.emplace(key);
  const auto found = config_->find(key);
  return found == config_->end() ? kNull : *found;
}

bool ConfigReader::has(std::string_view key) const {
  const auto found = config_->find(key);
  return found != config_->end() && !found->is_null();
}

const json* ConfigReader::required(std::string_view key, bool has_fallback) {
  const json& value = take(key);
  if (!value.is_null()) return &value;
  if (!has_fallback) fail("no value for " + std::string(key), "save the model again with Keras");
  return nullptr;
}

std::int64_t ConfigReader::integer(std::string_view key, std::optional<std::int64_t> fallback) {
  const json* value = required(key, fallback.has_value());
  if (value == nullptr) return *fallback;
  const auto number = whole_number(*value);
  if (!number) refuse(key, *value, "give a whole number below 2^31");
  return *number;
}

std::int64_t ConfigReader::positive(std::string_view key, std::optional<std::int64_t> fallback) {
  const std::int64_t value = integer(key, fallback);
  if (value < 1) refuse(key, value, "give a whole number of at least 1");
  return value;
}

double ConfigReader::number(std::string_view key, std::optional<double> fallback) {
  const json* value = required(key, fallback.has_value());
  if (value == nullptr) return *fallback;
  if (!value->is_number() || !std::isfinite(value->get<double>()))
    refuse(key, *value, "give a finite number");
  return value->get<double>();
}

bool ConfigReader::boolean(std::string_view key, std::optional<bool> fallback) {
  const json* value = required(key, fallback.has_value());
  if (value == nullptr) return *fallback;
  if (!value->is_boolean()) refuse(key, *value, "give true or false");
  return value->get<bool>();
}

std::string ConfigReader::text(std::string_view key, std::optional<std::string> fallback) {
  const json* value = required(key, fallback.has_value());
  if (value == nullptr) return *fallback;
  if (!value->is_string()) refuse(key, *value, "give a name");
  return value->get<std::string>();
}

Pair ConfigReader::pair(std::string_view key, std::optional<Pair> fallback) {
  const json* value = required(key, fallback.has_value());
  if (value == nullptr) return *fallback;
  const bool two = value->is_array() && value->size() == 2;
  const auto h = whole_number(two ? (*value)[0] : *value), w = whole_number(two ? (*value)[1] : *value);
  if (!h || !w || *h < 1 || *w < 1) refuse(key, *value, "give one or two whole numbers of at least 1");
  return {*h, *w};
}

void ConfigReader::finish() const {
  for (const auto& [key, value] : config_->items()) {
    if (read_.contains(key) || is_harmless(key, value)) continue;
    refuse(key, value, key == "data_format" ? "use channels_last" : "Stoker does not honour this option");
  }
}

void ConfigReader::refuse(std::string_view key, const json& value, std::string_view what_to_do) const {
  fail("unsupported value " + std::string(key) + "=" + brief(value), what_to_do);
}

void ConfigReader::fail(std::string_view what, std::string_view what_to_do) const {
  throw UserError(what, where_, what_to_do);
}

}  // namespace stoker::keras
