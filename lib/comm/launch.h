// What launched this process, read from the environment alone, before MPI_Init (facts that MPI itself cannot
// tell: a process that the launcher gave no connection becomes a world of one).
#pragma once

#include <map>
#include <string>

namespace stoker::comm {

using Environment = std::map<std::string, std::string>;

enum class Launcher {
  none,      // a lone process, also one in a batch script or an interactive allocation
  open_mpi,  // mpirun of Open MPI
  pmix,      // another launcher that speaks PMIx, e.g. srun --mpi=pmix
  pmi        // one that speaks PMI-1 or PMI-2, e.g. srun --mpi=pmi2, mpiexec of MPICH
};

struct LaunchEnvironment {
  Launcher launcher = Launcher::none;
  int rank = 0;           // the launcher's; 0 for a lone process
  int declared_size = 0;  // how many ranks the launcher started; 0: it does not say. 1 for a lone process
  bool in_slurm_step = false;
  // MPI_Init is due. False for a lone process and for the only process of an mpirun.
  bool needs_mpi() const { return launcher != Launcher::none && declared_size != 1; }
  // Errors met before the communicator stands are printed by the rank for which this is true, and by no
  // other.
  bool speaks() const { return rank == 0; }
};

// Variables: OMPI_COMM_WORLD_SIZE/RANK (Open MPI), PMIX_RANK, PMI_RANK/SIZE, and those of a Slurm step:
// SLURM_STEP_ID, SLURM_STEP_NUM_TASKS, SLURM_PROCID. A batch script or salloc shell also has SLURM_NTASKS and
// SLURM_PROCID, but no SLURM_STEP_ID or one of Slurm's reserved numbers (0xfffffff0 and above): a process
// there is a lone one.
LaunchEnvironment read_launch_environment(const Environment& environment);
LaunchEnvironment read_launch_environment();  // of this process

// Throws UserError if the launcher started several processes without a connection between them (srun
// --mpi=none -n 4): each would train alone, in one output directory.
void check_launch(const LaunchEnvironment& launch);
// The same after MPI_Init: MPI's world is smaller than what the launcher declared.
void check_world_size(const LaunchEnvironment& launch, int world_size);

}  // namespace stoker::comm
