// Subnormal floating-point numbers (below 1.2e-38 for fp32) as zero.
#pragma once

namespace stoker {

// From now on the calling thread, and every thread that it starts, takes subnormal operands for zero and
// makes zero of subnormal results, as TensorFlow's threads do. A CPU takes 100 cycles and more for a
// subnormal: the moments of weights without a gradient decay into them, and Adam then ran ten times as long.
// Call it before the first thread starts: all threads of all ranks must compute alike. Does nothing where the
// CPU has no such mode that we set (only x86-64's is).
void flush_subnormals_to_zero();

}  // namespace stoker
