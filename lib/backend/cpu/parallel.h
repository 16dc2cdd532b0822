// Work divided among the compute threads of the calling thread (omp_set_num_threads).
//
// A range is cut where the number of items and of threads say, never by who is idle, so a thread always gets
// the same part. Small ranges run on the calling thread: a parallel region costs about a microsecond or two.
#pragma once

#include <omp.h>

#include <cstdint>

namespace stoker::backend::cpu {

// Elements of fp32 work below which a thread of its own does not pay.
inline constexpr std::int64_t kElementsPerThread = 8192;

// body(begin, end) over [0, items), each part a multiple of `unit` items (but for the last) and worth a
// thread: `elements_per_item` elements of work each.
template <typename Body>
void parallel_ranges(std::int64_t items, std::int64_t unit, std::int64_t elements_per_item,
                     const Body& body) {
  if (items <= 0) return;
  const std::int64_t units = (items + unit - 1) / unit;
  const std::int64_t worth = items * elements_per_item / kElementsPerThread;
  std::int64_t threads = omp_get_max_threads();
  if (threads > worth) threads = worth;
  if (threads > units) threads = units;
  if (threads <= 1) {
    body(std::int64_t{0}, items);
    return;
  }
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num();
    if (thread < threads) {
      const std::int64_t begin = units * thread / threads * unit;
      const std::int64_t end = units * (thread + 1) / threads * unit;
      if (begin < end) body(begin, end < items ? end : items);
    }
  }
}

// The same for elements: parts are whole cache lines.
template <typename Body>
void parallel_elements(std::int64_t n, const Body& body) {
  parallel_ranges(n, 16, 1, body);
}

}  // namespace stoker::backend::cpu
