// The scalar state of a training run: what a checkpoint's JSON document holds beside the tensors. Everything
// that decides how the run goes on is here, so that a resumed run takes the same steps and writes the same
// lines.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace stoker::trainer {

// (sum, weight) pairs, never a mean of means: loss and metrics over the samples seen since some moment.
struct MetricSums {
  double weight = 0;            // samples
  double loss = 0;              // Σ samples · loss, regularisers included
  std::vector<double> metrics;  // Σ over samples, in the order of the run's metrics

  void clear();
};

struct LoopState {
  std::int64_t step = 0;            // done, over all attempts
  std::int64_t epoch = 0;           // the one that step + 1 belongs to
  std::int64_t position = 0;        // samples of it that are done
  bool validation_due = false;      // an epoch has ended and its validation was not finished
  MetricSums since_line;            // since the last line of metrics.jsonl
  MetricSums of_epoch;              // since the start of the epoch
  std::optional<double> best_loss;  // lowest validation loss so far, and the step after which it was seen
  std::int64_t best_step = 0;
  std::uint64_t metrics_bytes = 0;  // length of metrics.jsonl
  double seconds = 0;               // of training, over all attempts
};

// Exact: every double comes back with the same bits.
nlohmann::json to_json(const LoopState& state);
// Throws UserError naming `where` when a field is missing or of the wrong type.
LoopState loop_state_from_json(const nlohmann::json& json, const std::string& where);

}  // namespace stoker::trainer
