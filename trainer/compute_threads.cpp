#include "trainer/compute_threads.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace stoker::trainer {
namespace {

int cores_in_mask() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::max(1, CPU_COUNT(&set));
}

// CPUs that the cgroup (v2) lets this process use at a time; nothing without a quota.
std::optional<double> cgroup_quota() {
  std::ifstream membership("/proc/self/cgroup");
  std::string path, line;
  while (std::getline(membership, line))
    if (line.rfind("0::", 0) == 0) path = line.substr(3);
  std::optional<double> least;
  for (;;) {
    std::ifstream file("/sys/fs/cgroup" + path + "/cpu.max");
    std::string quota, period;
    if (file >> quota >> period) {
      const std::optional<double> q = parse_double(quota), p = parse_double(period);
      if (q && p && *p > 0) least = std::min(least.value_or(*q / *p), *q / *p);
    }
    if (path.empty() || path == "/") return least;
    path.resize(path.rfind('/'));
  }
}

std::optional<int> number_in_environment(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::optional<std::int64_t> value = parse_int(trim(text));
  if (!value || *value < 1 || *value > 1 << 16) return std::nullopt;
  return static_cast<int>(*value);
}

}  // namespace

ComputeThreads choose_compute_threads(std::optional<int> asked, const comm::LocalRanks& ranks) {
  ComputeThreads choice;
  const int mask = cores_in_mask(), machine = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  choice.cores = std::max(1, mask / std::max(1, ranks.mask_size));
  choice.why = std::to_string(mask) + " of " + std::to_string(machine) + " cores in the affinity mask";
  if (ranks.mask_size > 1) choice.why += ", shared by " + std::to_string(ranks.mask_size) + " ranks";
  if (const std::optional<double> quota = cgroup_quota(); quota && *quota / ranks.node_size < choice.cores) {
    choice.cores = std::max(1, static_cast<int>(std::floor(*quota / ranks.node_size)));
    choice.why += ", the cgroup's quota is " + format_double(*quota) + " CPUs";
  }
  choice.threads = choice.cores;
  if (asked) {
    choice.threads = *asked;
    choice.why = "--threads; " + choice.why;
  } else if (const auto limit = number_in_environment("OMP_NUM_THREADS"); limit && *limit < choice.threads) {
    choice.threads = *limit;
    choice.why += ", OMP_NUM_THREADS=" + std::to_string(*limit);
  }
  if (const auto limit = number_in_environment("OMP_THREAD_LIMIT");
      limit && *limit < choice.threads && !asked) {
    choice.threads = *limit;
    choice.why += ", OMP_THREAD_LIMIT=" + std::to_string(*limit);
  } else if (limit && *limit < choice.threads) {
    throw UserError(
        "OMP_THREAD_LIMIT is below the compute threads",
        "OMP_THREAD_LIMIT=" + std::to_string(*limit) + ", " + std::to_string(choice.threads) + " threads",
        "unset it, or give --threads " + std::to_string(*limit));
  }
  if (!asked && mask * 2 <= machine && ranks.node_size * mask < machine)
    choice.warning = "only " + std::to_string(mask) + " of " + std::to_string(machine) +
                     " cores may be used by this rank: start with `mpirun --bind-to none`, or with "
                     "`--map-by ppr:RANKS:node:pe=CORES`";
  return choice;
}

}  // namespace stoker::trainer
