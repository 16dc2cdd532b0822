#include "lib/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "lib/base/text.h"
#include "lib/optim/option_reader.h"

namespace stoker::optim {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr const char* kKindNames[] = {"constant", "step", "cosine", "exponential"};

std::string join_numbers(const std::vector<double>& values) {
  std::vector<std::string> parts;
  for (const double value : values) parts.push_back(format_double(value));
  return join(parts, "/");
}

std::vector<std::int64_t> to_boundaries(const std::vector<double>& numbers, const OptionReader& reader) {
  std::vector<std::int64_t> boundaries;
  for (const double number : numbers) {
    const bool good = number >= 0 && number < 1e15 && number == std::floor(number) &&
                      (boundaries.empty() || number > static_cast<double>(boundaries.back()));
    if (!good)
      reader.refuse("boundaries", "must be rising whole numbers of steps", "write boundaries=1000/2000");
    boundaries.push_back(static_cast<std::int64_t>(number));
  }
  if (boundaries.empty()) reader.refuse("boundaries", "is missing or empty", "write boundaries=1000/2000");
  return boundaries;
}

}  // namespace

Schedule Schedule::constant(double learning_rate) {
  Schedule schedule;
  schedule.value_ = learning_rate;
  return schedule;
}

float Schedule::learning_rate(std::int64_t step) const {
  const double first = kind_ == Kind::step ? values_.front() : value_;
  if (step < warmup_steps_) {
    const double done = static_cast<double>(step) / static_cast<double>(warmup_steps_);
    return static_cast<float>(warmup_start_ + (first - warmup_start_) * done);
  }
  const std::int64_t after = step - warmup_steps_;
  switch (kind_) {
    case Kind::constant:
      break;
    case Kind::step: {
      const auto reached =
          std::lower_bound(boundaries_.begin(), boundaries_.end(), after) - boundaries_.begin();
      return static_cast<float>(values_[static_cast<std::size_t>(reached)]);
    }
    case Kind::cosine: {
      const double done = std::min(static_cast<double>(after), decay_steps_) / decay_steps_;
      const double cosine = 0.5 * (1 + std::cos(std::numbers::pi * done));
      return static_cast<float>(value_ * ((1 - alpha_) * cosine + alpha_));
    }
    case Kind::exponential: {
      double exponent = static_cast<double>(after) / decay_steps_;
      if (staircase_) exponent = std::floor(exponent);
      return static_cast<float>(value_ * std::pow(decay_rate_, exponent));
    }
  }
  return static_cast<float>(value_);
}

std::optional<std::int64_t> Schedule::length() const {
  switch (kind_) {
    case Kind::constant:
      return warmup_steps_;
    case Kind::step:
      return warmup_steps_ + boundaries_.back() + 1;
    case Kind::cosine:
      return warmup_steps_ + static_cast<std::int64_t>(std::ceil(decay_steps_));
    case Kind::exponential:
      break;
  }
  return std::nullopt;
}

std::string Schedule::describe() const {
  std::vector<std::string> options;
  const auto add = [&](const char* key, double value) {
    options.push_back(std::string(key) + "=" + format_double(value));
  };
  if (kind_ == Kind::step) {
    options.push_back("boundaries=" + join_numbers({boundaries_.begin(), boundaries_.end()}));
    options.push_back("values=" + join_numbers(values_));
  } else {
    add("learning_rate", value_);
  }
  if (kind_ == Kind::cosine || kind_ == Kind::exponential) add("decay_steps", decay_steps_);
  if (kind_ == Kind::cosine) add("alpha", alpha_);
  if (kind_ == Kind::exponential) {
    add("decay_rate", decay_rate_);
    options.push_back(std::string("staircase=") + (staircase_ ? "true" : "false"));
  }
  if (warmup_steps_ > 0) {
    add("warmup_steps", static_cast<double>(warmup_steps_));
    add("warmup_start", warmup_start_);
  }
  return std::string(kKindNames[static_cast<int>(kind_)]) + ":" + join(options, ",");
}

Schedule parse_schedule(std::string_view text, double learning_rate, std::int64_t total_steps) {
  const NamedOptions named = parse_named_options(text, "--schedule");
  OptionReader reader(named.values, "--schedule " + named.name);
  Schedule schedule;
  schedule.value_ = reader.number("learning_rate", learning_rate, 0, kUnbounded);
  schedule.warmup_steps_ = reader.integer("warmup_steps", 0, 0);
  schedule.warmup_start_ = reader.number("warmup_start", 0, 0, kUnbounded);
  if (named.name == "constant") {
    schedule.kind_ = Schedule::Kind::constant;
  } else if (named.name == "step") {
    schedule.kind_ = Schedule::Kind::step;
    schedule.boundaries_ =
        to_boundaries(reader.numbers("boundaries").value_or(std::vector<double>()), reader);
    const std::optional<std::vector<double>> values = reader.numbers("values");
    const double factor = reader.number("factor", 0, 0, kUnbounded);
    if (values.has_value() == reader.has("factor"))
      reader.refuse("values", "or factor must be given, and not both", "write values=0.1/0.01 or factor=0.1");
    if (values) {
      schedule.values_ = *values;
    } else {
      for (std::size_t i = 0; i <= schedule.boundaries_.size(); ++i)
        schedule.values_.push_back(schedule.value_ * std::pow(factor, static_cast<double>(i)));
    }
    if (schedule.values_.size() != schedule.boundaries_.size() + 1)
      reader.refuse("values", "must be one more than boundaries", "give a rate for every interval");
  } else if (named.name == "cosine") {
    schedule.kind_ = Schedule::Kind::cosine;
    schedule.alpha_ = reader.number("alpha", 0, 0, 1);
    if (reader.has("warmup_target")) {
      if (reader.has("warmup_start"))
        reader.refuse("warmup_target", "and warmup_start are given", "give one of them");
      schedule.warmup_start_ = schedule.value_;
      schedule.value_ = reader.number("warmup_target", 0, 0, kUnbounded);
    }
    schedule.length_from_run_ = !reader.has("decay_steps");
    const double left = static_cast<double>(std::max<std::int64_t>(1, total_steps - schedule.warmup_steps_));
    schedule.decay_steps_ = reader.number("decay_steps", left, 1, kUnbounded);
  } else if (named.name == "exponential") {
    schedule.kind_ = Schedule::Kind::exponential;
    for (const char* key : {"decay_steps", "decay_rate"})
      if (!reader.has(key))
        reader.refuse(key, "is missing", "write exponential:decay_steps=1000,decay_rate=0.9");
    schedule.decay_steps_ = reader.number("decay_steps", 0, 1, kUnbounded);
    schedule.decay_rate_ = reader.number("decay_rate", 0, 0, kUnbounded);
    schedule.staircase_ = reader.flag("staircase", false);
  } else {
    throw UserError("unknown schedule '" + named.name + "'", "--schedule",
                    "use constant, step, cosine or exponential");
  }
  reader.finish();
  return schedule;
}

Schedule schedule_from_keras(const nlohmann::json& config, std::string_view where) {
  KerasObject object = keras_object(config, where);
  const std::string place = std::string(where) + ": learning_rate " + object.class_name;
  Schedule schedule;
  // Lists become the "a/b/c" that the reader takes.
  for (const char* key : {"boundaries", "values"}) {
    if (!object.config.contains(key) || !object.config[key].is_array()) continue;
    std::vector<std::string> parts;
    for (const auto& element : object.config[key]) parts.push_back(element.dump());
    object.config[key] = join(parts, "/");
  }
  OptionReader reader = OptionReader::from_json(object.config, place);
  reader.ignore("name");
  if (object.class_name == "ExponentialDecay") {
    schedule.kind_ = Schedule::Kind::exponential;
    schedule.value_ = reader.number("initial_learning_rate", 0, 0, kUnbounded);
    schedule.decay_steps_ = reader.number("decay_steps", 0, 1, kUnbounded);
    schedule.decay_rate_ = reader.number("decay_rate", 0, 0, kUnbounded);
    schedule.staircase_ = reader.flag("staircase", false);
  } else if (object.class_name == "CosineDecay") {
    schedule.kind_ = Schedule::Kind::cosine;
    schedule.value_ = reader.number("initial_learning_rate", 0, 0, kUnbounded);
    schedule.decay_steps_ = reader.number("decay_steps", 0, 1, kUnbounded);
    schedule.alpha_ = reader.number("alpha", 0, 0, 1);
    const std::int64_t warmup_steps = reader.integer("warmup_steps", 0, 0);
    // Without a target Keras does not warm up, whatever warmup_steps says.
    if (const auto target = reader.optional_number("warmup_target", 0, kUnbounded)) {
      schedule.warmup_steps_ = warmup_steps;
      schedule.warmup_start_ = schedule.value_;
      schedule.value_ = *target;
    }
  } else if (object.class_name == "PiecewiseConstantDecay") {
    schedule.kind_ = Schedule::Kind::step;
    schedule.boundaries_ =
        to_boundaries(reader.numbers("boundaries").value_or(std::vector<double>()), reader);
    schedule.values_ = reader.numbers("values").value_or(std::vector<double>());
    if (schedule.values_.size() != schedule.boundaries_.size() + 1)
      reader.refuse("values", "must be one more than boundaries", "save the model again with Keras");
  } else {
    throw UserError("the learning-rate schedule " + object.class_name + " is not known", where,
                    "choose one with --schedule, and an optimizer with --optimizer");
  }
  reader.finish();
  return schedule;
}

}  // namespace stoker::optim
