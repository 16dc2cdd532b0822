// From which checkpoint a run goes on. Rank 0 chooses; all ranks must be able to read what it chose.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "lib/comm/communicator.h"
#include "trainer/loop_state.h"
#include "trainer/parameter_store.h"
#include "trainer/train_options.h"

namespace stoker::trainer {

struct ResumePoint {
  std::string path;         // the checkpoint's folder
  nlohmann::json document;  // TrainingLoop::checkpoint_document() of the run that wrote it
  LoopState state;
};

// A collective. Nothing for a fresh start. Warns of newer checkpoints that are damaged. Ends all ranks with a
// UserError where there are checkpoints but no good one, where --resume never meets checkpoints in the output
// directory, and where some rank cannot see what rank 0 sees (no shared file system).
std::optional<ResumePoint> find_resume_point(comm::Communicator& communicator, const TrainOptions& options);

// A collective: every rank loads all tensors, verifying checksums.
void load_resume_point(comm::Communicator& communicator, const ResumePoint& point,
                       const ParameterStore& store);

}  // namespace stoker::trainer
