#include "lib/optim/option_reader.h"

#include <cmath>

#include "lib/base/text.h"

namespace stoker::optim {
namespace {

bool is_absent(const std::string& text) {
  const std::string value = lower(text);
  return value == "none" || value == "null" || value == "false";
}

}  // namespace

OptionReader::OptionReader(std::map<std::string, std::string> values, std::string where)
    : values_(std::move(values)), where_(std::move(where)) {}

OptionReader OptionReader::from_json(const nlohmann::json& config, std::string where) {
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : config.items()) {
    if (value.is_null()) continue;
    if (value.is_string())
      values[key] = value.get<std::string>();
    else if (value.is_boolean())
      values[key] = value.get<bool>() ? "true" : "false";
    else if (value.is_number_float())
      values[key] = format_double(value.get<double>());
    else
      values[key] = value.dump();
  }
  return OptionReader(std::move(values), std::move(where));
}

void OptionReader::refuse(std::string_view key, std::string_view what_is_wrong,
                          std::string_view what_to_do) const {
  throw UserError("option '" + std::string(key) + "' " + std::string(what_is_wrong), where_, what_to_do);
}

const std::string* OptionReader::find(const char* key) {
  known_.insert(key);
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

double OptionReader::number(const char* key, double otherwise, double least, double most) {
  const std::string* const text = find(key);
  if (text == nullptr) return otherwise;
  const std::optional<double> value = parse_double(*text);
  if (!value || !(*value >= least && *value <= most) || !std::isfinite(*value)) {
    const std::string range = std::isfinite(most)
                                  ? "from " + format_double(least) + " to " + format_double(most)
                                  : "of at least " + format_double(least);
    refuse(key, "is '" + *text + "'", "give a number " + range);
  }
  return *value;
}

std::optional<double> OptionReader::optional_number(const char* key, double least, double most) {
  const std::string* const text = find(key);
  if (text == nullptr || is_absent(*text)) return std::nullopt;
  return number(key, 0, least, most);
}

std::int64_t OptionReader::integer(const char* key, std::int64_t otherwise, std::int64_t least) {
  const std::string* const text = find(key);
  if (text == nullptr) return otherwise;
  // Keras files also hold 100.0 for a number of steps.
  const std::optional<double> value = parse_double(*text);
  if (!value || *value != std::floor(*value) || !(std::fabs(*value) < 1e15) ||
      *value < static_cast<double>(least))
    refuse(key, "is '" + *text + "'", "give a whole number of at least " + std::to_string(least));
  return static_cast<std::int64_t>(*value);
}

bool OptionReader::flag(const char* key, bool otherwise) {
  const std::string* const text = find(key);
  if (text == nullptr) return otherwise;
  const std::string value = lower(*text);
  if (value == "true" || value == "1" || value == "on") return true;
  if (value == "false" || value == "0" || value == "off") return false;
  refuse(key, "is '" + *text + "'", "give true or false");
}

std::optional<std::vector<double>> OptionReader::numbers(const char* key) {
  const std::string* const text = find(key);
  if (text == nullptr) return std::nullopt;
  std::vector<double> values;
  for (const std::string& part : split(*text, '/')) {
    const std::optional<double> value = parse_double(part);
    if (!value || !std::isfinite(*value))
      refuse(key, "is '" + *text + "'", "give numbers with slashes between them");
    values.push_back(*value);
  }
  return values;
}

void OptionReader::must_be_off(const char* key) {
  const std::string* const text = find(key);
  if (text == nullptr || is_absent(*text) || parse_double(*text) == 0.0) return;
  refuse(key, "is '" + *text + "', which stoker does not do",
         "leave it out, or choose another with --optimizer");
}

void OptionReader::finish() const {
  for (const auto& [key, value] : values_)
    if (!known_.contains(key)) {
      std::vector<std::string> names(known_.begin(), known_.end());
      refuse(key, "is not known", "known here: " + join(names, ", "));
    }
}

KerasObject keras_object(const nlohmann::json& value, std::string_view where) {
  const bool good = value.is_object() && value.contains("class_name") && value["class_name"].is_string() &&
                    (!value.contains("config") || value["config"].is_object() || value["config"].is_null());
  if (!good)
    throw UserError("no Keras object with class_name and config", where, "save the model again with Keras");
  KerasObject object{value["class_name"].get<std::string>(), nlohmann::json::object()};
  const std::size_t package = object.class_name.rfind('>');
  if (package != std::string::npos) object.class_name.erase(0, package + 1);
  if (value.contains("config") && value["config"].is_object()) object.config = value["config"];
  return object;
}

}  // namespace stoker::optim
