// communicator_factory.h for a build without MPI.
#include "lib/comm/communicator_factory.h"
#include "lib/comm/self_communicator.h"

namespace stoker::comm {

std::unique_ptr<Communicator> make_communicator(const LaunchEnvironment& launch, int*, char***) {
  check_launch(launch);
  if (launch.needs_mpi())
    throw UserError("this stoker was built without MPI", "the launcher started more than one process",
                    "start one process, or build it again where MPI is installed");
  return std::make_unique<SelfCommunicator>();
}

}  // namespace stoker::comm
