#include "trainer/loop_state.h"

#include "lib/base/error.h"
#include "lib/checkpoint/layout.h"

namespace stoker::trainer {
namespace {

using checkpoint::exact_double;
using checkpoint::exact_json;
using nlohmann::json;

json to_json(const MetricSums& sums) {
  json metrics = json::array();
  for (const double value : sums.metrics) metrics.push_back(exact_json(value));
  return {{"weight", exact_json(sums.weight)}, {"loss", exact_json(sums.loss)}, {"metrics", metrics}};
}

MetricSums sums_from_json(const json& j) {
  MetricSums sums;
  sums.weight = exact_double(j.at("weight"));
  sums.loss = exact_double(j.at("loss"));
  for (const json& value : j.at("metrics")) sums.metrics.push_back(exact_double(value));
  return sums;
}

}  // namespace

void MetricSums::clear() {
  weight = loss = 0;
  for (double& value : metrics) value = 0;
}

json to_json(const LoopState& s) {
  return {{"step", s.step},
          {"epoch", s.epoch},
          {"position", s.position},
          {"validation_due", s.validation_due},
          {"since_line", to_json(s.since_line)},
          {"of_epoch", to_json(s.of_epoch)},
          {"best_loss", s.best_loss ? exact_json(*s.best_loss) : json()},
          {"best_step", s.best_step},
          {"metrics_bytes", s.metrics_bytes},
          {"seconds", exact_json(s.seconds)}};
}

LoopState loop_state_from_json(const json& j, const std::string& where) {
  try {
    LoopState s;
    s.step = j.at("step").get<std::int64_t>();
    s.epoch = j.at("epoch").get<std::int64_t>();
    s.position = j.at("position").get<std::int64_t>();
    s.validation_due = j.at("validation_due").get<bool>();
    s.since_line = sums_from_json(j.at("since_line"));
    s.of_epoch = sums_from_json(j.at("of_epoch"));
    if (!j.at("best_loss").is_null()) s.best_loss = exact_double(j.at("best_loss"));
    s.best_step = j.at("best_step").get<std::int64_t>();
    s.metrics_bytes = j.at("metrics_bytes").get<std::uint64_t>();
    s.seconds = exact_double(j.at("seconds"));
    return s;
  } catch (const json::exception& e) {
    throw UserError("the checkpoint's state is not a training run's", where,
                    std::string("take another one: ") + e.what());
  }
}

}  // namespace stoker::trainer
