#include "lib/data/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "lib/base/text.h"

namespace stoker::data {
namespace {

// The least number in the files ROOT/PATH/NAME, ROOT/PARENT/NAME, … ROOT/NAME; "max" and missing files are no
// limit.
std::uint64_t least_limit(const std::string& root, std::string path, const std::string& name) {
  std::uint64_t least = UINT64_MAX;
  for (;;) {
    std::ifstream in(root + path + "/" + name);
    std::string word;
    if (in >> word)
      if (const auto bytes = parse_int(word); bytes && *bytes > 0)
        least = std::min(least, static_cast<std::uint64_t>(*bytes));
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

}  // namespace

std::uint64_t memory_limit() {
  std::uint64_t limit = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::ifstream groups("/proc/self/cgroup");  // lines ID:CONTROLLERS:PATH; v2 has ID 0 and no controllers
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1),
                      path = line.substr(second + 1);
    if (controllers.empty())
      limit = std::min(limit, least_limit("/sys/fs/cgroup", path, "memory.max"));
    else if (controllers == "memory")
      limit = std::min(limit, least_limit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
  }
  return limit;
}

}  // namespace stoker::data
