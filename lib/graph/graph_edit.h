// What passes do to a graph.
#pragma once

#include <vector>

#include "lib/graph/graph.h"

namespace stoker::graph {

// Takes out the ops marked dead; forward_ops and the values' producers follow, values whose op is gone have
// none.
void erase_ops(Graph& graph, const std::vector<bool>& dead);

// Sets the values' producers from the list of ops.
void find_producers(Graph& graph);

// The op that made the value as its output `output`; null if there is none.
Op* producer_of(Graph& graph, ValueId id, std::size_t output = 0);

// A relu whose derivative is 1 where the output is > 0 (and < max_value), else 0.
bool is_plain_relu(const ActivationAttributes& activation);

// The activation that a kind may have fused; null for the other kinds.
ActivationAttributes* fused_activation(Op& op);

}  // namespace stoker::graph
