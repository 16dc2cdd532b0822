#include "lib/base/weights_hash.h"

namespace stoker {

void WeightsHash::add(std::string_view name, std::span<const std::int64_t> dims, const void* data,
                      std::size_t bytes) {
  hash_.update_u64(name.size());
  hash_.update(name);
  hash_.update_u64(dims.size());
  for (const std::int64_t dim : dims) hash_.update_u64(static_cast<std::uint64_t>(dim));
  hash_.update(data, bytes);
}

}  // namespace stoker
