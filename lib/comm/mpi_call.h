// Checked MPI calls: STOKER_MPI(MPI_Isend(…)) throws SystemError with the call and MPI's own words.
#pragma once

#include <mpi.h>

namespace stoker::comm {

void check_mpi(int code, const char* expression, const char* file, int line);

}  // namespace stoker::comm

#define STOKER_MPI(call) ::stoker::comm::check_mpi((call), #call, __FILE__, __LINE__)
