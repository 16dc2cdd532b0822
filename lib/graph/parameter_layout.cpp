#include <algorithm>
#include <stdexcept>

#include "lib/graph/graph.h"

namespace stoker::graph {

ParameterLayout make_layout(const Graph& training_graph, const std::vector<std::int64_t>& sizes,
                            const std::vector<bool>& trainable) {
  if (sizes.size() != trainable.size()) throw std::logic_error("sizes and trainable differ in length");
  ParameterLayout layout;
  layout.ranges.resize(sizes.size());
  std::vector<bool> placed(sizes.size(), false);
  const auto place = [&](std::size_t k) {
    layout.ranges[k] = {layout.total_size, sizes[k], trainable[k]};
    layout.order.push_back(static_cast<std::int64_t>(k));
    layout.total_size += sizes[k];
    placed[k] = true;
  };
  for (const std::int64_t index : training_graph.ready_order) {
    const std::size_t k = static_cast<std::size_t>(index);
    if (k >= sizes.size() || !trainable[k] || placed[k])
      throw std::logic_error("the graph was differentiated for other parameters");
    place(k);
  }
  layout.trainable_size = layout.total_size;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (placed[k]) continue;
    if (trainable[k]) throw std::logic_error("the graph was differentiated for other parameters");
    place(k);
  }
  return layout;
}

std::vector<std::int64_t> gradients_ready(const Graph& graph, const ParameterLayout& layout) {
  constexpr std::int32_t kNever = -1;
  std::vector<std::int32_t> written_by(layout.ranges.size(), kNever);
  for (const Value& value : graph.values)
    if (value.role == Role::gradient) written_by.at(static_cast<std::size_t>(value.index)) = value.producer;

  std::vector<std::int64_t> ready(graph.ops.size(), 0);
  if (graph.ready_order.empty()) return ready;  // no gradients: a graph for evaluation
  std::int32_t last = 0;
  for (const std::int64_t index : layout.order) {
    const std::size_t k = static_cast<std::size_t>(index);
    if (!layout.ranges[k].trainable) break;
    if (written_by[k] == kNever) throw std::logic_error("a trainable parameter has no gradient in the graph");
    last = std::max(last, written_by[k]);
    ready[static_cast<std::size_t>(last)] = layout.ranges[k].offset + layout.ranges[k].size;
  }
  for (std::size_t i = 1; i < ready.size(); ++i) ready[i] = std::max(ready[i], ready[i - 1]);
  return ready;
}

}  // namespace stoker::graph
