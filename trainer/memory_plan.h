// Foretells what `stoker train` will allocate, by compiling the same programs.
#pragma once

#include "lib/keras/model.h"
#include "trainer/memory_report.h"
#include "trainer/options.h"

namespace stoker::trainer {

// Options batch-size, virtual-ranks, ranks, optimizer, threads as `stoker inspect` has them. For rank 0, without validation data and with
// the loss that the output layer suggests. Memory of the communication depends on the launch and is left at 0. Throws UserError.
MemoryReport plan_training_memory(const keras::Model& model, const Options& options);

}  // namespace stoker::trainer
