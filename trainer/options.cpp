#include "trainer/options.h"

#include <boost/program_options.hpp>
#include <fstream>
#include <sstream>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"

namespace stoker::trainer {
namespace {

namespace po = boost::program_options;

po::options_description to_boost(std::span<const OptionSpec> specs) {
  po::options_description description("Options", 100, 60);
  for (const OptionSpec& spec : specs) {
    const std::string help =
        std::string(spec.help) +
        (spec.default_value != nullptr ? std::string(" [") + spec.default_value + "]" : "");
    if (spec.argument == nullptr)
      description.add_options()(spec.name, help.c_str());
    else
      description.add_options()(spec.name, po::value<std::string>()->value_name(spec.argument), help.c_str());
  }
  return description;
}

std::string known_options(std::span<const OptionSpec> specs) {
  std::vector<std::string> names;
  for (const OptionSpec& spec : specs) names.push_back("--" + long_name(spec));
  return join(names, " ");
}

using Values = std::map<std::string, std::string>;

// Moves what Boost parsed into `values`; a name that is there already (the command line's) stays.
void take(const po::parsed_options& parsed, const std::string& where, Values& values,
          std::vector<std::string>* positional) {
  Values fresh;
  for (const po::option& option : parsed.options) {
    if (option.position_key >= 0) {
      if (positional == nullptr) continue;
      positional->insert(positional->end(), option.value.begin(), option.value.end());
      continue;
    }
    const std::string value = option.value.empty() ? "" : option.value.front();
    if (!fresh.emplace(option.string_key, value).second)
      throw UserError("the option is given twice", where + ": " + option.string_key, "give it once");
  }
  values.merge(fresh);
}

void take_config_file(const std::string& path, std::span<const OptionSpec> specs,
                      const po::options_description& description, Values& values) {
  std::ifstream file(path);
  if (!file || is_directory(path))
    throw UserError("cannot read the configuration file", path, "check --config");
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::string begin(kByteOrderMark.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  if (begin != kByteOrderMark) {
    file.clear();
    file.seekg(0);
  }
  try {
    Values in_file;
    take(po::parse_config_file(file, description), path, in_file, nullptr);
    for (const char* name : {"config", "help"})
      if (in_file.contains(name))
        throw UserError("an option of the command line alone", path + ": " + name, "remove the line");
    values.merge(in_file);
  } catch (const po::unknown_option& e) {
    throw UserError("unknown option '" + e.get_option_name() + "'", path,
                    "known are " + known_options(specs));
  } catch (const po::error& e) {
    throw UserError(e.what(), path, "write `key = value` lines, # starts a comment");
  }
}

}  // namespace

std::string Options::text(const std::string& name) const {
  if (const auto it = given_.find(name); it != given_.end()) return it->second;
  if (const auto it = defaults_.find(name); it != defaults_.end()) return it->second;
  return {};
}

std::optional<std::string> Options::maybe_text(const std::string& name) const {
  const std::string value = text(name);
  return value.empty() ? std::nullopt : std::optional(value);
}

std::string Options::required(const std::string& name) const {
  const std::string value = text(name);
  if (value.empty())
    throw UserError("--" + name + " is missing", command_, "give it; see `" + command_ + " --help`");
  return value;
}

void Options::no_positional() const {
  if (!positional_.empty())
    throw UserError("unexpected argument", positional_[0],
                    "options start with --; see `" + command_ + " --help`");
}

std::int64_t Options::integer(const std::string& name, std::int64_t low, std::int64_t high) const {
  const std::optional<std::int64_t> value = parse_int(text(name));
  if (value && *value >= low && *value <= high) return *value;
  throw UserError("not a whole number that is possible here", "--" + name + " " + text(name),
                  "give one from " + std::to_string(low) + " to " + std::to_string(high));
}

double Options::real(const std::string& name, double low, double high) const {
  const std::optional<double> value = parse_double(text(name));
  if (value && *value >= low && *value <= high) return *value;
  throw UserError("not a number that is possible here", "--" + name + " " + text(name),
                  "give one from " + format_double(low) + " to " + format_double(high));
}

bool Options::on_off(const std::string& name) const {
  static constexpr const char* kChoices[] = {"on", "off"};
  return choice(name, kChoices) == "on";
}

std::string Options::choice(const std::string& name, std::span<const char* const> choices) const {
  const std::string value = text(name);
  std::vector<std::string> all(choices.begin(), choices.end());
  for (const std::string& each : all)
    if (each == value) return value;
  throw UserError("not a possible value", "--" + name + " " + value, "give one of " + join(all, ", "));
}

std::string long_name(const OptionSpec& spec) {
  const std::string name = spec.name;
  return name.substr(0, name.find(','));
}

Options parse_options(std::span<const OptionSpec> specs, const std::vector<std::string>& arguments,
                      const std::string& command) {
  Options options;
  options.command_ = command;
  for (const OptionSpec& spec : specs)
    if (spec.default_value != nullptr && spec.argument != nullptr)
      options.defaults_[long_name(spec)] = spec.default_value;
  const po::options_description description = to_boost(specs);
  po::positional_options_description anything;
  anything.add("positional", -1);
  try {
    namespace style = po::command_line_style;
    const auto parsed = po::command_line_parser(arguments)
                            .options(description)
                            .positional(anything)
                            .style(style::allow_long | style::long_allow_next | style::long_allow_adjacent |
                                   style::allow_short | style::allow_dash_for_short | style::short_allow_next)
                            .run();
    take(parsed, command, options.given_, &options.positional_);
  } catch (const po::unknown_option& e) {
    throw UserError("unknown option '" + e.get_option_name() + "'", command,
                    "known are " + known_options(specs));
  } catch (const po::error& e) {
    throw UserError(e.what(), command, "see `" + command + " --help`");
  }
  if (options.has("config")) take_config_file(options.text("config"), specs, description, options.given_);
  return options;
}

std::string describe_options(std::span<const OptionSpec> specs) {
  std::ostringstream out;
  out << to_boost(specs);
  return out.str();
}

}  // namespace stoker::trainer
