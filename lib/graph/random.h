// The random numbers of a step: which Philox counter belongs to which element. Header-only: kernels on host
// and device share it.
#pragma once

#include <cstdint>

#include "lib/base/philox.h"

namespace stoker::graph {

// The key of one dropout call in one leaf of one step: seed, step, leaf, layer, call → 64 bits.
STOKER_HOST_DEVICE inline std::uint64_t dropout_key(std::uint64_t seed, std::uint64_t step,
                                                    std::uint32_t leaf, std::uint32_t layer,
                                                    std::uint32_t call) {
  return mix_key(mix_key(seed, step), (std::uint64_t{layer} << 40) ^ (std::uint64_t{call} << 28) ^ leaf);
}

// Element i draws word i % 4 of block i / 4; it is kept where the draw is ≥ rate.
STOKER_HOST_DEVICE inline Philox4 dropout_block(std::uint64_t key, std::uint64_t block) {
  return philox(key, 0x44726F70ull, block);
}

}  // namespace stoker::graph
