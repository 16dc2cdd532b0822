#include "lib/comm/launch.h"

#include <unistd.h>

#include <cstdint>
#include <optional>

#include "lib/base/error.h"
#include "lib/base/text.h"

extern char** environ;

namespace stoker::comm {
namespace {

// Slurm numbers its own steps (batch, interactive, extern, pending) from here on.
constexpr std::int64_t kFirstReservedStep = 0xfffffff0;

std::optional<int> number(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  const auto value = parse_int(found->second);
  if (!value || *value < 0 || *value > INT32_MAX) return std::nullopt;
  return static_cast<int>(*value);
}

bool is_in_slurm_step(const Environment& environment) {
  const auto found = environment.find("SLURM_STEP_ID");
  if (found == environment.end()) return false;
  const auto id = parse_int(found->second);
  return id && *id >= 0 && *id < kFirstReservedStep;
}

constexpr const char* kHowToLaunch =
    "start it with mpirun -n N, or srun --mpi=pmix (srun --mpi=list shows what this Slurm offers)";

}  // namespace

LaunchEnvironment read_launch_environment(const Environment& environment) {
  LaunchEnvironment launch;
  launch.in_slurm_step = is_in_slurm_step(environment);
  const int step_size = launch.in_slurm_step ? number(environment, "SLURM_STEP_NUM_TASKS").value_or(0) : 0;
  if (const auto rank = number(environment, "OMPI_COMM_WORLD_RANK")) {
    launch.launcher = Launcher::open_mpi;
    launch.rank = *rank;
    launch.declared_size = number(environment, "OMPI_COMM_WORLD_SIZE").value_or(0);
  } else if (const auto pmix_rank = number(environment, "PMIX_RANK")) {
    launch.launcher = Launcher::pmix;
    launch.rank = *pmix_rank;
    // The size of one component of a heterogeneous step is not that of the world.
    const bool heterogeneous = environment.contains("SLURM_HET_SIZE");
    launch.declared_size = heterogeneous ? 0 : step_size;
  } else if (const auto pmi_rank = number(environment, "PMI_RANK")) {
    launch.launcher = Launcher::pmi;
    launch.rank = *pmi_rank;
    launch.declared_size = number(environment, "PMI_SIZE").value_or(step_size);
  } else {
    launch.declared_size = 1;
    if (launch.in_slurm_step) {
      launch.declared_size = step_size > 0 ? step_size : 1;
      launch.rank = number(environment, "SLURM_PROCID").value_or(0);
    }
  }
  return launch;
}

LaunchEnvironment read_launch_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return read_launch_environment(environment);
}

void check_launch(const LaunchEnvironment& launch) {
  if (launch.launcher != Launcher::none || launch.declared_size <= 1) return;
  throw UserError("this Slurm step started " + std::to_string(launch.declared_size) +
                      " processes that are not connected by MPI; each would train alone",
                  "srun --mpi", kHowToLaunch);
}

void check_world_size(const LaunchEnvironment& launch, int world_size) {
  if (launch.declared_size <= world_size) return;
  throw UserError("the launcher started " + std::to_string(launch.declared_size) +
                      " processes, but MPI connected " + std::to_string(world_size) +
                      "; each would train alone",
                  "MPI_Init", "use the mpirun of the MPI that stoker was built with, or srun --mpi=pmix");
}

}  // namespace stoker::comm
