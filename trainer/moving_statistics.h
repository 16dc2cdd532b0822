// The moving statistics of batch normalisation change once a step, from the leaves' statistics weighted by
// samples (DESIGN §4).
#pragma once

#include <cstdint>
#include <span>

#include "lib/graph/graph.h"

namespace stoker::trainer {

// moving ← momentum·moving + (1 − momentum)·(Σ n_leaf·statistic)/samples, as Keras 3 does it (biased
// variance). `statistics` are the step's sums over all leaves; `parameters` is the flat buffer.
void update_moving_statistics(const graph::Graph& graph, const graph::ParameterLayout& layout,
                              std::span<const float> statistics, std::int64_t samples, float* parameters);

}  // namespace stoker::trainer
