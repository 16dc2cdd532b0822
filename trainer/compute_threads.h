// How many compute threads a rank takes, and why: for the first lines of a run.
#pragma once

#include <optional>
#include <string>

#include "lib/comm/communicator.h"

namespace stoker::trainer {

struct ComputeThreads {
  int threads = 1;
  int cores = 1;        // this rank's share of the cores that it may run on
  std::string why;      // "2 cores in the affinity mask, shared by 2 ranks"
  std::string warning;  // when most of the machine is shut out; else empty
};

// From --threads, else the affinity mask divided among the ranks that share it, within the cgroup's CPU
// quota. OMP_NUM_THREADS, if set, is an upper limit. Throws UserError when OMP_THREAD_LIMIT is below what was
// asked for: a team smaller than asked for hangs oneDNN.
ComputeThreads choose_compute_threads(std::optional<int> asked, const comm::LocalRanks& ranks);

}  // namespace stoker::trainer
