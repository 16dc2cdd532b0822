// Foretells what `stoker train` will allocate, by compiling the same programs.
#pragma once

#include "lib/keras/model.h"
#include "trainer/memory_report.h"
#include "trainer/options.h"

namespace stoker::trainer {

// Options batch-size, virtual-ranks, ranks, optimizer, loss, metrics, threads as `stoker inspect` has them.
// For rank 0 and the tree all-reduce; validation data whose ragged batch takes more than training are not
// foreseen. Throws UserError.
MemoryReport plan_training_memory(const keras::Model& model, const Options& options);

}  // namespace stoker::trainer
