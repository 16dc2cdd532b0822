// Our own kernels for AVX-512 (F, BW, DQ, VL) and FMA.
#include "lib/backend/cpu/functions.h"
#include "lib/base/philox.h"
#include "lib/kernels/activation.h"
#include "lib/kernels/philox_blocks.h"
#include "lib/kernels/softmax_loss.h"

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")
#define STOKER_INSTRUCTION_SET avx512
#define STOKER_VECTOR_BYTES 64
#define STOKER_INSTRUCTION_SET_NAME "avx512"
#include "lib/backend/cpu/functions_body.inc"
#pragma GCC pop_options
