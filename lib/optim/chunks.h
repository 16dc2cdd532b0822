// Loops over the elements of ranges by chunks of fixed size, so that results do not depend on the number of
// threads. Internal to lib/optim.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "lib/optim/parameter_range.h"

namespace stoker::optim {

// 16 KiB of floats: a few buffers' chunks stay in the first-level cache, and a thread's share is worth its
// start.
inline constexpr std::int64_t kChunk = 4096;

// Σ over the chunks [begin, begin + size) of 0 … count: chunk_sum(begin, size), added in order of the chunks.
// Allocates nothing.
template <typename ChunkSum>
double sum_over_chunks(std::int64_t count, ChunkSum chunk_sum) {
  constexpr std::int64_t kGroup = 256;
  std::array<double, kGroup> partial;
  double sum = 0;
  for (std::int64_t group = 0; group < count; group += kGroup * kChunk) {
    const std::int64_t chunks = std::min(kGroup, (count - group + kChunk - 1) / kChunk);
#pragma omp parallel for schedule(static) if (chunks > 1)
    for (std::int64_t c = 0; c < chunks; ++c) {
      const std::int64_t begin = group + c * kChunk;
      partial[static_cast<std::size_t>(c)] = chunk_sum(begin, std::min(kChunk, count - begin));
    }
    for (std::int64_t c = 0; c < chunks; ++c) sum += partial[static_cast<std::size_t>(c)];
  }
  return sum;
}

// Σ value(i) for i in [begin, begin + size), in double, in eight interleaved sums: a fixed order that also
// vectorises.
template <typename Value>
double sum_in_lanes(std::int64_t begin, std::int64_t size, Value value) {
  constexpr std::int64_t kLanes = 8;
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    for (std::int64_t lane = 0; lane < kLanes; ++lane)
      lanes[static_cast<std::size_t>(lane)] += value(begin + i + lane);
  for (std::int64_t lane = 0; i < size; ++i, ++lane)
    lanes[static_cast<std::size_t>(lane)] += value(begin + i);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Calls body(range, begin, size) for every chunk of every trainable range, `begin` from the start of the flat
// buffer, on all threads of the team; chunks are dealt out round robin.
template <typename Body>
void for_each_chunk(std::span<const ParameterRange> ranges, Body body) {
#pragma omp parallel
  {
    const std::int64_t team = omp_get_num_threads(), self = omp_get_thread_num();
    std::int64_t index = 0;
    for (const ParameterRange& range : ranges) {
      if (!range.trainable) continue;
      for (std::int64_t begin = 0; begin < range.size; begin += kChunk, ++index)
        if (index % team == self) body(range, range.offset + begin, std::min(kChunk, range.size - begin));
    }
  }
}

}  // namespace stoker::optim
