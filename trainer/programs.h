// The compiled programs of a run: one for each distinct size of a leaf's microbatch, all working in one
// arena.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "lib/backend/backend.h"

namespace stoker::trainer {

// Makes the graph of a microbatch of n samples.
using GraphMaker = std::function<graph::Graph(std::int64_t n)>;

class Programs {
 public:
  // Compiles for all leaf sizes that occur when batches of `batch` samples, and the ragged last one of
  // `samples` samples in all, are split over V leaves. Throws what compile throws. At least one program
  // exists.
  Programs(backend::Backend& backend, const graph::ParameterLayout& layout, const GraphMaker& make_graph,
           std::int64_t samples, std::int64_t batch, std::int64_t virtual_ranks);

  backend::Program& of(std::int64_t n) const { return *by_size_.at(n); }
  // Any of them, for what does not depend on the size: the statistics' places.
  const graph::Graph& graph() const { return by_size_.begin()->second->graph(); }
  std::int64_t arena_bytes() const;  // the largest
  std::size_t count() const { return by_size_.size(); }

 private:
  std::map<std::int64_t, std::unique_ptr<backend::Program>> by_size_;
};

}  // namespace stoker::trainer
