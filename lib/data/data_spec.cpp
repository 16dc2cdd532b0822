#include "lib/data/data_spec.h"

#include <algorithm>
#include <cmath>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"

namespace stoker::data {
namespace {

std::string list(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

[[noreturn]] void bad_value(const DataSpec& spec, const std::string& key, std::string_view to_do) {
  throw UserError("'" + spec.keys.at(key) + "' is no value of the key " + key, spec.text, to_do);
}

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

void parse_keys(std::string_view text, DataSpec& spec) {
  for (const std::string& part : split(text, '&')) {
    const std::size_t equals = part.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw UserError("'" + part + "' is not key=value", spec.text, "write PATH?key=value&key=value");
    if (!spec.keys.emplace(part.substr(0, equals), part.substr(equals + 1)).second)
      throw UserError("the key " + part.substr(0, equals) + " is given twice", spec.text, "give it once");
  }
}

}  // namespace

std::optional<std::string> DataSpec::get(const std::string& key) const {
  const auto found = keys.find(key);
  if (found == keys.end()) return std::nullopt;
  return found->second;
}

DataSpec parse_data_spec(std::string_view text, std::span<const std::string_view> kinds) {
  DataSpec spec;
  spec.text = text;
  std::string_view rest = text;
  const auto exists = [](std::string_view path) { return path_exists(std::string(path)); };
  if (!exists(rest)) {
    const std::size_t colon = rest.find(':');
    const std::string_view word = rest.substr(0, colon);
    if (colon != std::string_view::npos && std::find(kinds.begin(), kinds.end(), word) != kinds.end()) {
      spec.kind = word;
      rest.remove_prefix(colon + 1);
    } else if (colon != std::string_view::npos && is_word(word) && !exists(rest.substr(0, rest.find('?')))) {
      throw UserError("unknown kind of data '" + std::string(word) + "'", text, "known are " + list(kinds));
    }
  }
  if (!exists(rest)) {
    const std::size_t question = rest.rfind('?');
    if (question != std::string_view::npos) {
      parse_keys(rest.substr(question + 1), spec);
      rest = rest.substr(0, question);
    }
  }
  if (exists(rest))
    spec.paths.emplace_back(rest);
  else
    spec.paths = split(rest, ',');
  if (spec.paths.empty() || std::count(spec.paths.begin(), spec.paths.end(), "") > 0)
    throw UserError("no path of data", text, "write PATH or KIND:PATH, e.g. hdf5:digits.h5");
  return spec;
}

void check_keys(const DataSpec& spec, std::span<const std::string_view> common,
                std::span<const std::string_view> own) {
  for (const auto& [key, value] : spec.keys) {
    if (std::find(common.begin(), common.end(), key) != common.end()) continue;
    if (std::find(own.begin(), own.end(), key) != own.end()) continue;
    throw UserError("unknown key '" + key + "' for data of the kind " + spec.kind, spec.text,
                    "known are " + list(own) + (own.empty() ? "" : ", ") + list(common));
  }
}

double parse_fraction(const DataSpec& spec, const std::string& key, double fallback) {
  const auto text = spec.get(key);
  if (!text) return fallback;
  const std::size_t slash = text->find('/');
  const auto number = parse_double(std::string_view(*text).substr(0, slash));
  const auto divisor =
      slash == std::string::npos ? 1.0 : parse_double(std::string_view(*text).substr(slash + 1));
  if (!number || !divisor || !std::isfinite(*number / *divisor))
    bad_value(spec, key, "give a number or a fraction, e.g. 1/255");
  return *number / *divisor;
}

std::vector<double> parse_number_list(const DataSpec& spec, const std::string& key) {
  std::vector<double> numbers;
  const auto text = spec.get(key);
  if (!text) return numbers;
  for (const std::string& part : split(*text, '/')) {
    const auto number = parse_double(part);
    if (!number || !std::isfinite(*number))
      bad_value(spec, key, "give numbers with '/' between them, e.g. 0.5/0.4/0.3");
    numbers.push_back(*number);
  }
  if (numbers.empty()) bad_value(spec, key, "give numbers with '/' between them, e.g. 0.5/0.4/0.3");
  return numbers;
}

std::vector<std::int64_t> parse_dimensions(const DataSpec& spec, const std::string& key) {
  std::vector<std::int64_t> dimensions;
  const auto text = spec.get(key);
  if (!text) return dimensions;
  for (const std::string& part : split(*text, 'x')) {
    const auto dimension = parse_int(part);
    if (!dimension || *dimension < 1 || *dimension > (std::int64_t{1} << 40) || dimensions.size() == 8)
      bad_value(spec, key, "give the shape of one sample, e.g. 28x28x1");
    dimensions.push_back(*dimension);
  }
  if (dimensions.empty()) bad_value(spec, key, "give the shape of one sample, e.g. 28x28x1");
  return dimensions;
}

std::string parse_choice(const DataSpec& spec, const std::string& key,
                         std::initializer_list<std::string_view> choices, std::string_view fallback) {
  const auto text = spec.get(key);
  if (!text) return std::string(fallback);
  if (std::find(choices.begin(), choices.end(), *text) == choices.end())
    bad_value(spec, key, "give one of " + list({choices.begin(), choices.size()}));
  return *text;
}

}  // namespace stoker::data
