// The Keras model that is in a checkpoint: its architecture from the manifest, its weights from the shards.
#pragma once

#include <string>

#include "lib/keras/model.h"

namespace stoker::trainer {

// The folder of one checkpoint (step-…), by its name.
bool is_checkpoint(const std::string& directory);
// A directory with checkpoints of a run, or with what a run leaves.
bool is_run(const std::string& directory);

// The checkpoint itself, or the newest good one of a run. Throws UserError when there is none.
std::string newest_checkpoint(const std::string& directory);

// Verifies what it reads. Throws UserError.
keras::Model load_checkpoint_model(const std::string& checkpoint);

}  // namespace stoker::trainer
