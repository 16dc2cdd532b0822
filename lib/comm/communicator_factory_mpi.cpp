// communicator_factory.h for a build with MPI.
#include "lib/comm/communicator_factory.h"
#include "lib/comm/mpi_communicator.h"
#include "lib/comm/self_communicator.h"

namespace stoker::comm {

std::unique_ptr<Communicator> make_communicator(const LaunchEnvironment& launch, int* argc, char*** argv) {
  check_launch(launch);
  if (!launch.needs_mpi()) return std::make_unique<SelfCommunicator>();
  auto communicator = std::make_unique<MpiCommunicator>(argc, argv);
  if (communicator->size() < launch.declared_size) static_cast<void>(communicator->finish(kExitUser));
  check_world_size(launch, communicator->size());
  return communicator;
}

}  // namespace stoker::comm
