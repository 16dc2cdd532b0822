#include <cmath>

#include "lib/optim/optimizers.h"
#include "lib/optim/option_reader.h"

namespace stoker::optim {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// A decay rate of 1 would divide by zero in Adam's bias correction.
constexpr double kBelowOne = 1 - 1e-7;

CommonOptions read_common(OptionReader& reader, std::optional<double> default_weight_decay,
                          std::optional<double> clip_norm) {
  CommonOptions common;
  common.weight_decay = reader.has("weight_decay") ? reader.optional_number("weight_decay", 0, kUnbounded)
                                                   : default_weight_decay;
  reader.ignore("weight_decay");
  common.clipnorm = reader.optional_number("clipnorm", 0, kUnbounded);
  common.clipvalue = reader.optional_number("clipvalue", 0, kUnbounded);
  common.global_clipnorm = reader.optional_number("global_clipnorm", 0, kUnbounded);
  const auto given = common.clipnorm.has_value() + common.clipvalue.has_value() +
                     common.global_clipnorm.has_value() + (clip_norm.has_value() ? 1 : 0);
  if (given > 1)
    reader.refuse("clipnorm", "is one of several kinds of clipping",
                  "give one of clipnorm, clipvalue, global_clipnorm, --clip-norm");
  if (clip_norm) common.global_clipnorm = clip_norm;
  return common;
}

// Arguments of Keras that have no meaning here, and those that we do not honour.
void read_refused(OptionReader& reader) {
  for (const char* key : {"name", "jit_compile", "is_legacy_optimizer"}) reader.ignore(key);
  for (const char* key : {"use_ema", "loss_scale_factor", "gradient_accumulation_steps", "decay"})
    reader.must_be_off(key);
  // Without use_ema these do nothing.
  for (const char* key : {"ema_momentum", "ema_overwrite_frequency"}) reader.ignore(key);
}

OptimizerChoice make(const std::string& class_name, OptionReader& reader, std::optional<double> clip_norm) {
  const std::string name = lower(class_name);
  OptimizerChoice choice;
  const std::string rate_key = reader.has("lr") && !reader.has("learning_rate") ? "lr" : "learning_rate";
  choice.learning_rate = reader.number(rate_key.c_str(), name == "sgd" ? 0.01 : 0.001, 0, kUnbounded);
  read_refused(reader);
  if (name == "sgd") {
    SgdOptions options;
    options.momentum = reader.number("momentum", options.momentum, 0, 1);
    options.nesterov = reader.flag("nesterov", options.nesterov);
    choice.optimizer = std::make_unique<Sgd>(options, read_common(reader, std::nullopt, clip_norm));
  } else if (name == "adam" || name == "adamw") {
    AdamOptions options;
    options.beta_1 = reader.number("beta_1", options.beta_1, 0, kBelowOne);
    options.beta_2 = reader.number("beta_2", options.beta_2, 0, kBelowOne);
    options.epsilon = reader.number("epsilon", options.epsilon, 0, kUnbounded);
    options.amsgrad = reader.flag("amsgrad", options.amsgrad);
    const auto decay = name == "adamw" ? std::optional<double>(0.004) : std::nullopt;
    const CommonOptions common = read_common(reader, decay, clip_norm);
    if (name == "adamw" && !common.weight_decay)
      reader.refuse("weight_decay", "must be a number for AdamW", "use adam for training without decay");
    choice.optimizer = std::make_unique<Adam>(name, options, common);
  } else if (name == "rmsprop") {
    RmspropOptions options;
    options.rho = reader.number("rho", options.rho, 0, 1);
    options.momentum = reader.number("momentum", options.momentum, 0, 1);
    options.epsilon = reader.number("epsilon", options.epsilon, 0, kUnbounded);
    options.centered = reader.flag("centered", options.centered);
    choice.optimizer = std::make_unique<Rmsprop>(options, read_common(reader, std::nullopt, clip_norm));
  } else {
    throw UserError("unknown optimizer '" + class_name + "'", reader.where(),
                    "use sgd, adam, adamw or rmsprop");
  }
  reader.finish();
  return choice;
}

}  // namespace

OptimizerChoice optimizer_from_options(const NamedOptions& options, std::optional<double> clip_norm) {
  OptionReader reader(options.values, "--optimizer " + options.name);
  return make(options.name, reader, clip_norm);
}

OptimizerChoice optimizer_from_keras(const nlohmann::json& config, std::string_view where,
                                     std::optional<double> clip_norm) {
  KerasObject object = keras_object(config, where);
  const std::string place = std::string(where) + ": optimizer " + object.class_name;
  if (object.class_name == "LossScaleOptimizer")
    throw UserError("the model was compiled with loss scaling, which stoker does not do", place,
                    "choose an optimizer with --optimizer");
  std::optional<Schedule> schedule;
  const auto rate = object.config.find("learning_rate");
  if (rate != object.config.end() && rate->is_object()) {
    schedule = schedule_from_keras(*rate, place);
    object.config.erase("learning_rate");
  }
  OptionReader reader = OptionReader::from_json(object.config, place);
  OptimizerChoice choice = make(object.class_name, reader, clip_norm);
  if (schedule)
    choice.learning_rate = schedule->learning_rate(0);
  else  // Keras writes a rate as the double of its float: 0.0010000000474974513 is 0.001 again
    choice.learning_rate = as_written(static_cast<float>(choice.learning_rate));
  choice.schedule = std::move(schedule);
  return choice;
}

}  // namespace stoker::optim
