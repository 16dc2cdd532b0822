#include "lib/comm/host_table.h"

#include <sched.h>

#include <cstring>

#include "lib/comm/mpi_call.h"
#include "lib/comm/self_communicator.h"

namespace stoker::comm {
namespace {

constexpr std::size_t kMaxCores = 4096;

// What the ranks tell each other at start-up.
struct HostRecord {
  char host[256];
  int node;  // the lowest rank on the same node
  unsigned char cores[kMaxCores / 8];
};

HostRecord describe_this_process() {
  HostRecord record{};
  std::strncpy(record.host, this_host().c_str(), sizeof record.host - 1);
  cpu_set_t* const mask = CPU_ALLOC(kMaxCores);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMaxCores);
  CPU_ZERO_S(bytes, mask);
  const bool known = ::sched_getaffinity(0, bytes, mask) == 0;
  for (std::size_t core = 0; core < kMaxCores; ++core)
    if (!known || CPU_ISSET_S(core, bytes, mask))
      record.cores[core / 8] |= static_cast<unsigned char>(1U << core % 8);
  CPU_FREE(mask);
  return record;
}

bool share_cores(const HostRecord& a, const HostRecord& b) {
  for (std::size_t i = 0; i < sizeof a.cores; ++i)
    if ((a.cores[i] & b.cores[i]) != 0) return true;
  return false;
}

}  // namespace

HostTable gather_hosts(int rank, int size) {
  HostRecord mine = describe_this_process();
  MPI_Comm node = MPI_COMM_NULL;
  STOKER_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  STOKER_MPI(MPI_Allreduce(&rank, &mine.node, 1, MPI_INT, MPI_MIN, node));
  STOKER_MPI(MPI_Comm_free(&node));
  std::vector<HostRecord> records(static_cast<std::size_t>(size));
  STOKER_MPI(
      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, records.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD));
  HostTable table{{}, {0, 0, 0, 0}};
  LocalRanks& local = table.local_ranks;
  for (int r = 0; r < size; ++r) {
    const HostRecord& record = records[static_cast<std::size_t>(r)];
    table.hosts.emplace_back(record.host);
    if (record.node != mine.node) continue;
    const bool shares = share_cores(record, mine);
    if (r < rank) {
      ++local.node_rank;
      local.mask_rank += shares;
    }
    ++local.node_size;
    local.mask_size += shares;
  }
  return table;
}

}  // namespace stoker::comm
