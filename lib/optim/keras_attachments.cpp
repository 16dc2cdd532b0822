// Regularisers and constraints from a layer's config.
#include "lib/optim/option_reader.h"
#include "lib/optim/parameter_range.h"

namespace stoker::optim {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// A name alone stands for the class with its defaults.
KerasObject named_or_object(const nlohmann::json& config, std::string_view where) {
  if (config.is_string()) return {config.get<std::string>(), nlohmann::json::object()};
  return keras_object(config, where);
}

// Class names and the snake-case names of functions alike: "MaxNorm", "max_norm".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_') plain += c;
  for (char& c : plain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return plain;
}

std::vector<int> read_axes(nlohmann::json& config, const std::string& where) {
  std::vector<int> axes;
  const auto found = config.find("axis");
  if (found == config.end()) return {0};
  const nlohmann::json list = found->is_array() ? *found : nlohmann::json::array({*found});
  for (const auto& axis : list) {
    if (!axis.is_number_integer())
      throw UserError("axis is no whole number", where, "save the model again with Keras");
    axes.push_back(axis.get<int>());
  }
  config.erase(found);
  return axes;
}

}  // namespace

Regularizer regularizer_from_keras(const nlohmann::json& config, std::string_view where) {
  if (config.is_null()) return {};
  const KerasObject object = named_or_object(config, where);
  const std::string name = plain_name(object.class_name),
                    place = std::string(where) + ": " + object.class_name;
  OptionReader reader = OptionReader::from_json(object.config, place);
  Regularizer regularizer;
  // L1 and L2 alone default to 0.01; so does the name "l1_l2" (Keras 2), but not the class L1L2.
  const double both = object.class_name == "l1_l2" ? 0.01 : 0;
  if (name == "l1") {
    regularizer.l1 = static_cast<float>(reader.number("l1", 0.01, 0, kUnbounded));
  } else if (name == "l2") {
    regularizer.l2 = static_cast<float>(reader.number("l2", 0.01, 0, kUnbounded));
  } else if (name == "l1l2") {
    regularizer.l1 = static_cast<float>(reader.number("l1", both, 0, kUnbounded));
    regularizer.l2 = static_cast<float>(reader.number("l2", both, 0, kUnbounded));
  } else {
    throw UserError("the regularizer " + object.class_name + " is not known", where, "use L1, L2 or L1L2");
  }
  reader.finish();
  return regularizer;
}

Constraint constraint_from_keras(const nlohmann::json& config, std::string_view where) {
  if (config.is_null()) return {};
  KerasObject object = named_or_object(config, where);
  const std::string name = plain_name(object.class_name),
                    place = std::string(where) + ": " + object.class_name;
  Constraint constraint;
  if (name != "nonneg" && name != "nonnegative") constraint.axes = read_axes(object.config, place);
  OptionReader reader = OptionReader::from_json(object.config, place);
  if (name == "nonneg" || name == "nonnegative") {
    constraint.kind = Constraint::Kind::non_negative;
  } else if (name == "maxnorm") {
    constraint.kind = Constraint::Kind::max_norm;
    constraint.max_value = static_cast<float>(reader.number("max_value", 2, 0, kUnbounded));
  } else if (name == "unitnorm") {
    constraint.kind = Constraint::Kind::unit_norm;
  } else if (name == "minmaxnorm") {
    constraint.kind = Constraint::Kind::min_max_norm;
    constraint.min_value = static_cast<float>(reader.number("min_value", 0, 0, kUnbounded));
    constraint.max_value = static_cast<float>(reader.number("max_value", 1, 0, kUnbounded));
    constraint.rate = static_cast<float>(reader.number("rate", 1, 0, 1));
  } else {
    throw UserError("the constraint " + object.class_name + " is not known", where,
                    "use MaxNorm, NonNeg, UnitNorm or MinMaxNorm");
  }
  reader.finish();
  return constraint;
}

}  // namespace stoker::optim
