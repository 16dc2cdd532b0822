// Text and numbers, whatever the locale: numbers are read and written with a point. Pure and thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

std::vector<std::string> split(std::string_view text, char separator);  // "a,,b" → a, "", b; "" → nothing
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trim(std::string_view text);  // blanks, tabs, CR, LF
std::string lower(std::string_view text);      // ASCII

// The whole of `text` must be the number; nothing otherwise. parse_double takes inf and nan too.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_double(std::string_view text);

std::string format_double(double value);  // the shortest text that reads back as the same bits
// The double that a float's shortest text reads as: 0.001f → 0.001.
double as_written(float value);
std::string format_bytes(std::uint64_t bytes);  // "3.2 MiB"

// `name[:k=v,…]`, the form of --loss, --optimizer and --schedule. Throws UserError, naming `option`, on an
// empty name, a part without '=', or a key given twice.
struct NamedOptions {
  std::string name;
  std::map<std::string, std::string> values;
};
NamedOptions parse_named_options(std::string_view text, std::string_view option);

// fnmatch-like: '*' any run, '?' any character.
bool glob_match(std::string_view pattern, std::string_view text);

}  // namespace stoker
