// What asks a run to stop or to save early. Handlers only set flags; the training loop reads them once a step
// and puts its vote into the step's reduction, so that all ranks act alike (DESIGN §4, facts in
// doc/design.md).
//
//   SIGTERM, SIGINT, SIGUSR1     stop: finish the step, save, exit 75
//   SIGCONT from the parent      the launcher is about to end the job (mpirun sends it a second before
//                                SIGTERM): save, go on
//   the job's end                stop, a margin before it
#pragma once

#include <cstdint>
#include <optional>

namespace stoker::trainer {

// Installs the handlers for the life of the process. Call once, before threads are started and after
// MPI_Init, which sets handlers of its own.
void install_stop_signals();

bool stop_requested();     // a stop signal has come
int stop_signal();         // which one came first; 0: none
bool take_save_request();  // SIGCONT from the parent since the last call

// End of the job in seconds since the epoch: STOKER_DEADLINE, else SLURM_JOB_END_TIME; nothing outside a job.
std::optional<double> job_end_time();
// True when the job is known to end in less than `seconds`.
bool job_ends_within(double seconds);

}  // namespace stoker::trainer
