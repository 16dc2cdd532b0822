// The digest of a model's weights that `stoker inspect --hash` prints: the same for a Keras file, a
// checkpoint and a run directory, when names, shapes and values are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/hash.h"

namespace stoker {

// XXH3-128 over, for every weight in model order: length and bytes of the name ("conv2d/kernel"), rank and
// dimensions, then the elements, row-major in Keras layout, little-endian fp32. Numbers are u64,
// little-endian. Not thread-safe; nothing throws but bad_alloc.
class WeightsHash {
 public:
  // `data` holds `bytes` bytes, the product of dims times the element size.
  void add(std::string_view name, std::span<const std::int64_t> dims, const void* data, std::size_t bytes);
  std::string hex() const { return hash_.hex(); }  // 32 digits

 private:
  Hash128 hash_;
};

}  // namespace stoker
