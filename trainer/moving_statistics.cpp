#include "trainer/moving_statistics.h"

namespace stoker::trainer {

void update_moving_statistics(const graph::Graph& graph, const graph::ParameterLayout& layout,
                              std::span<const float> statistics, std::int64_t samples, float* parameters) {
  const float weight = static_cast<float>(samples);
  for (const graph::MovingStatistic& moving : graph.moving_statistics) {
    float* const values = parameters + layout.ranges[static_cast<std::size_t>(moving.parameter)].offset;
    const float* const sums = statistics.data() + moving.offset;
    for (std::int64_t i = 0; i < moving.size; ++i)
      values[i] = values[i] * moving.momentum + sums[i] / weight * (1.0f - moving.momentum);
  }
}

}  // namespace stoker::trainer
