#include "trainer/programs.h"

#include <algorithm>

#include "lib/base/split.h"

namespace stoker::trainer {

Programs::Programs(backend::Backend& backend, const graph::ParameterLayout& layout,
                   const GraphMaker& make_graph, std::int64_t samples, std::int64_t batch,
                   std::int64_t virtual_ranks) {
  const std::int64_t full = std::min(samples, batch), ragged = samples % batch;
  for (const std::int64_t n : {full, ragged})
    for (std::int64_t leaf = 0; leaf < virtual_ranks; ++leaf) {
      const std::int64_t size = split(n, virtual_ranks, leaf).size();
      if (size > 0 && by_size_.count(size) == 0) by_size_[size] = backend.compile(make_graph(size), layout);
    }
}

std::int64_t Programs::arena_bytes() const {
  std::int64_t most = 0;
  for (const auto& [size, program] : by_size_) most = std::max(most, program->arena_bytes());
  return most;
}

}  // namespace stoker::trainer
