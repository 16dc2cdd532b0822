// Our own kernels for AVX2 and FMA.
#include "lib/backend/cpu/functions.h"
#include "lib/base/philox.h"
#include "lib/kernels/activation.h"
#include "lib/kernels/philox_blocks.h"
#include "lib/kernels/softmax_loss.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define STOKER_INSTRUCTION_SET avx2
#define STOKER_VECTOR_BYTES 32
#define STOKER_INSTRUCTION_SET_NAME "avx2"
#include "lib/backend/cpu/functions_body.inc"
#pragma GCC pop_options
