// The training loop: steps, metric lines, validation, checkpoints, stops. All ranks run it alike; rank 0
// alone writes lines.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "lib/backend/backend.h"
#include "lib/comm/communicator.h"
#include "lib/data/loader.h"
#include "lib/telemetry/event_file.h"
#include "lib/telemetry/metrics_log.h"
#include "lib/telemetry/progress.h"
#include "lib/telemetry/step_clock.h"
#include "trainer/evaluator.h"
#include "trainer/job.h"
#include "trainer/loop_state.h"
#include "trainer/parameter_store.h"
#include "trainer/saver.h"
#include "trainer/step_engine.h"

namespace stoker::trainer {

// Rank 0's files; null on the others.
struct LoopFiles {
  std::unique_ptr<telemetry::MetricsLog> metrics;
  std::unique_ptr<telemetry::EventFile> train_events, validation_events;
};

// What the loop works with; everything outlives it.
struct LoopParts {
  const Job& job;
  comm::Communicator& communicator;
  StepEngine& engine;
  ParameterStore& store;
  Evaluator* evaluator;  // null without validation data
  Saver& saver;
  telemetry::StepClock& clock;
  LoopFiles& files;
  std::byte* arena;
  int threads;  // compute threads of this rank, for the checkpoint's record
};

class TrainingLoop {
 public:
  TrainingLoop(const LoopParts& parts, LoopState state, data::Loader& loader);

  // Trains to the end of the job (kExitDone) or to a stop with a checkpoint (kExitStoppedWithCheckpoint).
  // Throws EndTogether on a loss that is not finite and when the last checkpoint could not be written.
  int run();

  const LoopState& state() const { return state_; }
  std::int64_t samples_done() const { return samples_done_; }  // in this attempt
  const std::optional<Evaluation>& last_validation() const { return last_validation_; }
  nlohmann::json checkpoint_document() const;

 private:
  bool step();  // false: a stop was voted
  [[noreturn]] void end_without_checkpoint(const std::string& failure);
  Votes votes() const;
  void update(const data::StepBatch& batch);
  void add_to_sums(const data::StepBatch& batch, double loss);
  void end_with_non_finite(const data::StepBatch& batch);
  void write_train_line();
  void compare_ranks();
  bool validate();  // false: a stop was voted meanwhile
  bool stop_voted_now();
  void maybe_save(bool epoch_ended, bool asked);
  void save();
  void show(bool epoch_ended);

  LoopParts parts_;
  LoopState state_;
  data::Loader& loader_;
  telemetry::Progress progress_;
  telemetry::PhaseTimes shown_times_;
  std::optional<Evaluation> last_validation_;
  std::int64_t samples_done_ = 0;
  double line_started_, save_started_, run_started_;
  double line_samples_ = 0, shown_samples_ = 0, shown_at_;
};

}  // namespace stoker::trainer
