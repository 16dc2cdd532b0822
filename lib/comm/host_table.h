// Which rank runs on which host, and which ranks share this one's node and cores.
#pragma once

#include <string>
#include <vector>

#include "lib/comm/communicator.h"

namespace stoker::comm {

struct HostTable {
  std::vector<std::string> hosts;  // by rank
  LocalRanks local_ranks;
};

// Collective over MPI_COMM_WORLD, where this process is `rank` of `size`. Throws SystemError.
HostTable gather_hosts(int rank, int size);

}  // namespace stoker::comm
