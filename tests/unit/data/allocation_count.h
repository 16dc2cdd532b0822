// Counts what this test program allocates with operator new, in all threads.
#pragma once

#include <cstdint>

namespace stoker::data::test {

std::int64_t allocations();  // since the program began

}  // namespace stoker::data::test
