#include "lib/keras/layers/weight_options.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/base/text.h"
#include "lib/keras/layers/initializers.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

// An object of a config: its class and its own config; a string is a class with nothing configured.
struct Named {
  std::string class_name;
  json config = json::object();
};

std::optional<Named> read_named(const json& value) {
  if (value.is_string()) return Named{value.get<std::string>()};
  if (!value.is_object() || !value.contains("class_name") || !value["class_name"].is_string()) return {};
  Named named{value["class_name"].get<std::string>()};
  if (value.contains("config") && value["config"].is_object()) named.config = value["config"];
  return named;
}

// "MaxNorm", "max_norm", "maxnorm": compared without case and underscores.
std::string plain(std::string_view name) {
  std::string text = lower(name);
  std::erase(text, '_');
  return text;
}

// A number of an object's config; `fallback` if it is absent.
double number_of(const ConfigReader& reader, const std::string& key, const json& config, const char* field,
                 double fallback) {
  if (!config.contains(field) || config[field].is_null()) return fallback;
  if (!config[field].is_number()) reader.refuse(key + "." + field, config[field], "give a number");
  const double number = config[field].get<double>();
  if (!std::isfinite(number)) reader.refuse(key + "." + field, config[field], "give a finite number");
  return number;
}

void refuse_unknown_fields(const ConfigReader& reader, const std::string& key, const json& config,
                           std::initializer_list<std::string_view> known) {
  for (const auto& [field, value] : config.items()) {
    if (std::find(known.begin(), known.end(), field) == known.end()) {
      reader.refuse(key + "." + field, value, "Stoker does not honour this option");
    }
  }
}

}  // namespace

Initializer read_initializer(ConfigReader& reader, const std::string& key, const std::string& fallback) {
  const json& value = reader.take(key);
  if (value.is_null()) return {fallback, default_initializer_config(fallback)};
  const auto named = read_named(value);
  const auto name = named ? initializer_name(named->class_name) : std::nullopt;
  if (!name) {
    reader.refuse(key, value,
                  "use one of Keras' Zeros, Ones, Constant, RandomNormal, RandomUniform, TruncatedNormal, "
                  "VarianceScaling, Glorot-, He-, LecunUniform and -Normal, Orthogonal, Identity");
  }
  Initializer initializer{*name, default_initializer_config(*name)};
  for (const auto& [field, given] : named->config.items()) {
    // The run's seed rules; the axes are those of the weight's shape, as Keras takes them too.
    const bool axes = field == "input_axes" || field == "output_axes";
    if (field == "seed" || field == "dtype" || (axes && given.is_null())) continue;
    if (!initializer.config.contains(field)) {
      reader.refuse(key + "." + field, given, "Stoker does not honour this option");
    }
    if (!given.is_null()) initializer.config[field] = given;
  }
  check_initializer(initializer, reader, key);
  return initializer;
}

Regularizer read_regularizer(ConfigReader& reader, const std::string& key) {
  const json& value = reader.take(key);
  if (value.is_null()) return {};
  const auto named = read_named(value);
  const std::string name = named ? plain(named->class_name) : "";
  const bool l1 = name == "l1" || name == "l1l2", l2 = name == "l2" || name == "l1l2";
  if (!l1 && !l2) reader.refuse(key, value, "use L1, L2 or L1L2");
  refuse_unknown_fields(reader, key, named->config, {"l1", "l2"});
  // The object L1L2 has zeros for what it does not say, the others and the names 0.01.
  const double fallback = value.is_object() && name == "l1l2" ? 0.0 : 0.01;
  Regularizer regularizer;
  if (l1) regularizer.l1 = static_cast<float>(number_of(reader, key, named->config, "l1", fallback));
  if (l2) regularizer.l2 = static_cast<float>(number_of(reader, key, named->config, "l2", fallback));
  if (regularizer.l1 < 0 || regularizer.l2 < 0) reader.refuse(key, value, "give factors of at least 0");
  return regularizer;
}

Constraint read_constraint(ConfigReader& reader, const std::string& key) {
  const json& value = reader.take(key);
  if (value.is_null()) return {};
  const auto named = read_named(value);
  const std::string name = named ? plain(named->class_name) : "";
  Constraint constraint;
  if (name == "nonneg") {
    refuse_unknown_fields(reader, key, named->config, {});
    constraint.name = "NonNeg";
    return constraint;
  }
  if (name != "maxnorm") reader.refuse(key, value, "use MaxNorm or NonNeg");
  refuse_unknown_fields(reader, key, named->config, {"max_value", "axis"});
  constraint.name = "MaxNorm";
  constraint.max_value = static_cast<float>(number_of(reader, key, named->config, "max_value", 2.0));
  if (constraint.max_value < 0) reader.refuse(key, value, "give a max_value of at least 0");
  if (named->config.contains("axis") && !named->config["axis"].is_null()) {
    json axis = named->config["axis"];
    if (!axis.is_array()) axis = json::array({axis});
    constraint.axis.clear();
    for (const json& a : axis) {
      if (!a.is_number_integer()) reader.refuse(key + ".axis", axis, "give whole numbers");
      constraint.axis.push_back(a.get<std::int64_t>());
    }
  }
  return constraint;
}

WeightSpec read_weight(ConfigReader& reader, const std::string& prefix, const std::string& weight_name,
                       const std::string& default_initializer) {
  WeightSpec weight;
  weight.name = weight_name;
  weight.initializer = read_initializer(reader, prefix + "_initializer", default_initializer);
  weight.regularizer = read_regularizer(reader, prefix + "_regularizer");
  weight.constraint = read_constraint(reader, prefix + "_constraint");
  return weight;
}

json initializer_config(const Initializer& initializer) {
  json config = initializer.config;
  if (is_random(initializer.name)) config["seed"] = nullptr;
  return {{"class_name", initializer.name}, {"config", config}};
}

json regularizer_config(const Regularizer& regularizer) {
  if (regularizer.l1 == 0 && regularizer.l2 == 0) return nullptr;
  return {{"class_name", "L1L2"},
          {"config", {{"l1", shortest(regularizer.l1)}, {"l2", shortest(regularizer.l2)}}}};
}

json constraint_config(const Constraint& constraint) {
  if (constraint.name.empty()) return nullptr;
  json config = json::object();
  if (constraint.name == "MaxNorm") {
    config["max_value"] = shortest(constraint.max_value);
    config["axis"] = constraint.axis.size() == 1 ? json(constraint.axis[0]) : json(constraint.axis);
  }
  return {{"class_name", constraint.name}, {"config", config}};
}

void write_weight(json& config, const std::string& prefix, const WeightSpec& weight) {
  config[prefix + "_initializer"] = initializer_config(weight.initializer);
  config[prefix + "_regularizer"] = regularizer_config(weight.regularizer);
  config[prefix + "_constraint"] = constraint_config(weight.constraint);
}

}  // namespace stoker::keras
