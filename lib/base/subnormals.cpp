#include "lib/base/subnormals.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace stoker {

void flush_subnormals_to_zero() {
#if defined(__x86_64__)
  // Intel 64 manual, volume 1, 10.2.3: MXCSR bit 15 flushes results to zero, bit 6 takes operands for zero.
  constexpr unsigned kFlushToZero = 1U << 15, kDenormalsAreZeros = 1U << 6;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZeros);
#endif
}

}  // namespace stoker
