// Command lines: Boost.Program_options parses them, this gives typed values and errors that say what to write
// instead.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace stoker::trainer {

// One option of a command, as `--help` and the man page show it.
struct OptionSpec {
  const char* name;           // "batch-size"; "output,o" has a short form
  const char* argument;       // "B"; null for a flag
  const char* default_value;  // "32"; null: none
  const char* help;
};

// The options and positional arguments a user gave. Values are text until asked for.
class Options {
 public:
  bool has(const std::string& name) const { return given_.count(name) != 0; }
  // The text given, else the default; empty if there is neither.
  std::string text(const std::string& name) const;
  std::optional<std::string> maybe_text(const std::string& name) const;
  std::string required(const std::string& name) const;  // UserError when it is missing
  // Whole numbers and reals within [low, high]; UserError otherwise.
  std::int64_t integer(const std::string& name, std::int64_t low, std::int64_t high) const;
  double real(const std::string& name, double low, double high) const;
  bool on_off(const std::string& name) const;
  // One of `choices`, else a UserError that lists them.
  std::string choice(const std::string& name, std::span<const char* const> choices) const;
  bool flag(const std::string& name) const { return given_.count(name) != 0; }
  const std::vector<std::string>& positional() const { return positional_; }
  void no_positional() const;  // UserError when there is one

 private:
  friend Options parse_options(std::span<const OptionSpec>, const std::vector<std::string>&,
                               const std::string&);
  std::map<std::string, std::string> given_, defaults_;
  std::vector<std::string> positional_;
  std::string command_;
};

// "output,o" → "output"
std::string long_name(const OptionSpec& spec);

// Parses `arguments` of `command`. An option `config` names a file of `key = value` lines with the same
// options; what the command line says wins. Throws UserError on what is unknown, given twice, or lacks its
// value.
Options parse_options(std::span<const OptionSpec> specs, const std::vector<std::string>& arguments,
                      const std::string& command);

// The options as `--help` prints them.
std::string describe_options(std::span<const OptionSpec> specs);

}  // namespace stoker::trainer
