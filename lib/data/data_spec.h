// The text form of DATA, `KIND:PATH[,PATH][?key=value&…]` (source.h), taken apart. Touches no file but to see
// whether one exists.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stoker::data {

struct DataSpec {
  std::string text;                // as given
  std::string kind;                // empty: to be found from the content
  std::vector<std::string> paths;  // at least one
  std::map<std::string, std::string> keys;

  // The value of a key, or nothing.
  std::optional<std::string> get(const std::string& key) const;
};

// `kinds` are the known ones. A text that is the path of something that exists is that path, whatever
// characters are in it; a comma, too, may be part of a path that exists. Throws UserError for an empty path,
// an unknown kind, a part that is no key=value, or a key given twice.
DataSpec parse_data_spec(std::string_view text, std::span<const std::string_view> kinds);

// Throws UserError naming the first key that is neither in `common` nor in `own`, and listing both.
void check_keys(const DataSpec& spec, std::span<const std::string_view> common,
                std::span<const std::string_view> own);

// Values of keys. Each throws UserError naming the key and what it takes.
double parse_fraction(const DataSpec& spec, const std::string& key,
                      double fallback);  // "0.5" or "1/255"; finite
std::vector<double> parse_number_list(const DataSpec& spec,
                                      const std::string& key);  // "0.1/0.2"; finite; empty if absent
std::vector<std::int64_t> parse_dimensions(const DataSpec& spec,
                                           const std::string& key);  // "28x28x1"; each ≥ 1
std::string parse_choice(const DataSpec& spec, const std::string& key,
                         std::initializer_list<std::string_view> choices, std::string_view fallback);

}  // namespace stoker::data
