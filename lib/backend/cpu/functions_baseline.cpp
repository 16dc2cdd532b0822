// Our own kernels for what every x86-64 has (SSE2), and other processors.
#include "lib/backend/cpu/functions.h"
#include "lib/base/philox.h"
#include "lib/kernels/activation.h"
#include "lib/kernels/philox_blocks.h"
#include "lib/kernels/softmax_loss.h"

#define STOKER_INSTRUCTION_SET baseline
#define STOKER_VECTOR_BYTES 16
#define STOKER_INSTRUCTION_SET_NAME "baseline"
#include "lib/backend/cpu/functions_body.inc"
