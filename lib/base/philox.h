// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
// as 1, 2, 3", SC 2011). A number is a pure function of (key, counter), so any rank or thread can make any of
// them.
//
// Header-only and free of std: compiles for host and device. Stateless, hence thread-safe.
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define STOKER_HOST_DEVICE __host__ __device__
#else
#define STOKER_HOST_DEVICE
#endif

namespace stoker {

struct Philox4 {
  std::uint32_t v[4];
};

// Ten rounds over the 128-bit counter with the 64-bit key.
STOKER_HOST_DEVICE inline Philox4 philox(std::uint64_t key, std::uint64_t counter_high,
                                         std::uint64_t counter_low) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter_low),
                c1 = static_cast<std::uint32_t>(counter_low >> 32);
  std::uint32_t c2 = static_cast<std::uint32_t>(counter_high),
                c3 = static_cast<std::uint32_t>(counter_high >> 32);
  std::uint32_t k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
    const std::uint32_t n0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// [0, 1) with 24 bits: every value is exact in fp32.
STOKER_HOST_DEVICE inline float uniform_from_bits(std::uint32_t bits) {
  return static_cast<float>(bits >> 8) * (1.0f / 16777216.0f);
}

// Mixes the parts of a key (seed, purpose, …) into 64 bits: one Philox block, so related keys are unrelated
// streams.
STOKER_HOST_DEVICE inline std::uint64_t mix_key(std::uint64_t a, std::uint64_t b) {
  const Philox4 x = philox(a, 0x53746F6B6572ull, b);
  return (std::uint64_t{x.v[1]} << 32) | x.v[0];
}

}  // namespace stoker
