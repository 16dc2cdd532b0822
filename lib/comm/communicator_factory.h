// Chooses and starts the communicator. Two files implement it, with and without MPI; the build takes one of
// them.
#pragma once

#include <memory>

#include "lib/comm/communicator.h"
#include "lib/comm/launch.h"

namespace stoker::comm {

// A SelfCommunicator for a lone process, without MPI_Init; else an MPI one (MPI_Init_thread may take its
// options out of argc and argv). Throws UserError when the launch makes no sense (check_launch,
// check_world_size) or needs MPI and this build has none; on those, only the rank for which launch.speaks()
// holds prints.
std::unique_ptr<Communicator> make_communicator(const LaunchEnvironment& launch, int* argc, char*** argv);

}  // namespace stoker::comm
