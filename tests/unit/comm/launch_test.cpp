#include "lib/comm/launch.h"

#include <gtest/gtest.h>

#include "lib/base/error.h"

namespace stoker::comm {
namespace {

TEST(Launch, LoneProcess) {
  const LaunchEnvironment launch = read_launch_environment(Environment{{"HOME", "/root"}});
  EXPECT_FALSE(launch.needs_mpi());
  EXPECT_TRUE(launch.speaks());
  EXPECT_NO_THROW(check_launch(launch));
}

TEST(Launch, LoneProcessInABatchScriptOrAllocation) {
  for (const char* step : {"", "4294967291", "4294967290"}) {
    Environment environment{
        {"SLURM_JOB_ID", "7"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}};
    if (*step != '\0') environment["SLURM_STEP_ID"] = step;
    const LaunchEnvironment launch = read_launch_environment(environment);
    EXPECT_EQ(launch.launcher, Launcher::none) << step;
    EXPECT_FALSE(launch.needs_mpi()) << step;
    EXPECT_NO_THROW(check_launch(launch)) << step;
  }
}

TEST(Launch, UnconnectedSlurmStepIsRefused) {
  for (const char* rank : {"0", "3"}) {
    const LaunchEnvironment launch = read_launch_environment(
        Environment{{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", rank}});
    EXPECT_FALSE(launch.needs_mpi());
    EXPECT_EQ(launch.speaks(), *rank == '0');
    try {
      check_launch(launch);
      FAIL() << "not refused";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("srun --mpi=pmix"), std::string::npos) << error.what();
    }
  }
}

TEST(Launch, OneTaskSlurmStepIsALoneProcess) {
  const LaunchEnvironment launch = read_launch_environment(
      Environment{{"SLURM_STEP_ID", "3"}, {"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_PROCID", "0"}});
  EXPECT_FALSE(launch.needs_mpi());
  EXPECT_NO_THROW(check_launch(launch));
}

TEST(Launch, OpenMpi) {
  // As inside a Slurm job: mpirun's daemons are a step of their own, whose size says nothing.
  const LaunchEnvironment launch = read_launch_environment(Environment{{"OMPI_COMM_WORLD_SIZE", "8"},
                                                                       {"OMPI_COMM_WORLD_RANK", "5"},
                                                                       {"PMIX_RANK", "5"},
                                                                       {"SLURM_STEP_ID", "0"},
                                                                       {"SLURM_STEP_NUM_TASKS", "2"},
                                                                       {"SLURM_PROCID", "1"}});
  EXPECT_EQ(launch.launcher, Launcher::open_mpi);
  EXPECT_EQ(launch.rank, 5);
  EXPECT_EQ(launch.declared_size, 8);
  EXPECT_TRUE(launch.needs_mpi());
  EXPECT_FALSE(launch.speaks());
  EXPECT_NO_THROW(check_launch(launch));
  EXPECT_NO_THROW(check_world_size(launch, 8));
  EXPECT_THROW(check_world_size(launch, 1), UserError);
}

TEST(Launch, MpirunOfOneNeedsNoMpi) {
  const LaunchEnvironment launch =
      read_launch_environment(Environment{{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  EXPECT_FALSE(launch.needs_mpi());
}

TEST(Launch, SlurmWithPmix) {
  Environment environment{
      {"PMIX_RANK", "2"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_PROCID", "2"}};
  LaunchEnvironment launch = read_launch_environment(environment);
  EXPECT_EQ(launch.launcher, Launcher::pmix);
  EXPECT_EQ(launch.declared_size, 4);
  EXPECT_TRUE(launch.needs_mpi());
  EXPECT_THROW(check_world_size(launch, 1), UserError);
  // A component of a heterogeneous step knows only its own size.
  environment["SLURM_HET_SIZE"] = "2";
  environment["SLURM_STEP_NUM_TASKS"] = "1";
  launch = read_launch_environment(environment);
  EXPECT_EQ(launch.declared_size, 0);
  EXPECT_TRUE(launch.needs_mpi());
  EXPECT_NO_THROW(check_world_size(launch, 3));
}

TEST(Launch, Pmi) {
  const LaunchEnvironment launch = read_launch_environment(Environment{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_EQ(launch.launcher, Launcher::pmi);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_TRUE(launch.needs_mpi());
}

TEST(Launch, NonsenseInTheVariablesIsNoRank) {
  const LaunchEnvironment launch = read_launch_environment(
      Environment{{"OMPI_COMM_WORLD_RANK", "x"}, {"PMIX_RANK", "-1"}, {"SLURM_STEP_ID", "abc"}});
  EXPECT_EQ(launch.launcher, Launcher::none);
  EXPECT_FALSE(launch.needs_mpi());
}

}  // namespace
}  // namespace stoker::comm
