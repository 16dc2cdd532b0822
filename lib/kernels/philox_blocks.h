// Many consecutive Philox blocks at once, the rounds outside and the blocks inside, so that a host vectorises
// over blocks. The bits are those of stoker::philox. Stateless, hence thread-safe.
#pragma once

#include <cstdint>

#include "lib/kernels/kernel.h"

namespace stoker::kernels {

// words[4·i + k] = philox(key, counter_high, first + i).v[k] for i in [0, kBlocks); first + kBlocks may not
// wrap around 2⁶⁴.
template <int kBlocks>
STOKER_KERNEL void philox_blocks(std::uint64_t key, std::uint64_t counter_high, std::uint64_t first,
                                 std::uint32_t (&words)[4 * kBlocks]) {
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  const auto high0 = static_cast<std::uint32_t>(counter_high),
             high1 = static_cast<std::uint32_t>(counter_high >> 32);
#pragma omp simd
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(counter);
    c1[i] = static_cast<std::uint32_t>(counter >> 32);
    c2[i] = high0;
    c3[i] = high1;
  }
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<std::uint32_t>(p1);
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
#pragma omp simd
  for (int i = 0; i < kBlocks; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

}  // namespace stoker::kernels
