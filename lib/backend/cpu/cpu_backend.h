// The CPU backend: oneDNN for matrix products and convolutions, own kernels for the rest.
//
// Threads are OpenMP's. Their number is a setting of the calling thread, which make_cpu_backend makes for the
// thread that calls it and every later call makes again for its own: no call may come from inside a parallel
// region. The bits of results depend on the number of threads and the instruction set, on nothing else.
#pragma once

#include <memory>

#include "lib/backend/backend.h"

namespace stoker::backend::cpu {

// `threads` ≥ 1. Throws UserError when OMP_THREAD_LIMIT is below `threads`: a team smaller than asked for
// makes oneDNN wait for ever.
std::unique_ptr<Backend> make_cpu_backend(int threads);

}  // namespace stoker::backend::cpu
