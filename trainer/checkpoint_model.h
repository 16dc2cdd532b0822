// The Keras model that is in a checkpoint: its architecture from the manifest, its weights from the shards.
#pragma once

#include <string>

#include "lib/keras/model.h"

namespace stoker::trainer {

// The folder of one checkpoint (step-…), by its name.
bool is_checkpoint(const std::string& directory);
// A directory with checkpoints of a run (a run's own, or its checkpoints folder), or with what a run leaves.
bool is_run(const std::string& directory);

// A run's directory or its checkpoints folder has checkpoints; or the directory is one.
bool has_checkpoints(const std::string& directory);

// The checkpoint itself, or the newest good one of a run. Throws UserError when there is none.
std::string newest_checkpoint(const std::string& directory);

// The model of a run's directory: its newest good checkpoint, or its model.h5 where there are no checkpoints
// (any more); or of one checkpoint. Throws UserError.
keras::Model load_run_model(const std::string& directory);

// Verifies what it reads. Throws UserError.
keras::Model load_checkpoint_model(const std::string& checkpoint);

}  // namespace stoker::trainer
