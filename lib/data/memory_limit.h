// How much memory this process may use.
#pragma once

#include <cstdint>

namespace stoker::data {

// The smallest of the machine's memory and the limits of this process's cgroup and all above it (v2 and v1).
std::uint64_t memory_limit();

}  // namespace stoker::data
