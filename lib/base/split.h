// The one way in which Stoker divides n things among parts: samples of a batch over leaves, leaves over
// ranks, elements over threads. Everything that must agree on such a division calls this.
#pragma once

#include <cstdint>

namespace stoker {

// The half-open range [begin, end).
struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  constexpr std::int64_t size() const { return end - begin; }
  constexpr bool operator==(const Span&) const = default;
};

// Part `part` of [0, n) in `parts` parts: [floor(part·n/parts), floor((part+1)·n/parts)). Parts are
// consecutive, differ in size by at most one, and are empty where n < parts. Requires n ≥ 0, 0 ≤ part < parts
// < 2^31; no product overflows.
constexpr Span split(std::int64_t n, std::int64_t parts, std::int64_t part) {
  const auto edge = [&](std::int64_t p) { return n / parts * p + n % parts * p / parts; };
  return {edge(part), edge(part + 1)};
}

}  // namespace stoker
