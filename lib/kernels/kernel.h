// How a body that host and device share is declared. On the host it is always inlined, into loops that are
// compiled once for each instruction set (lib/backend/cpu/functions_*.cpp): no out-of-line copy exists that
// the linker could merge over instruction sets, and a loop over it vectorises.
#pragma once

#if defined(__CUDACC__)
#define STOKER_KERNEL __host__ __device__ __forceinline__
#else
#define STOKER_KERNEL inline __attribute__((always_inline))
#endif
