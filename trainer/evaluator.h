// Loss and metrics over a whole data set, sharded over the ranks by virtual rank. The result has the same
// bits on any number of ranks: every leaf sums its samples in double, and the leaves are added in leaf order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/backend/backend.h"
#include "lib/comm/communicator.h"
#include "lib/data/loader.h"
#include "trainer/programs.h"

namespace stoker::trainer {

struct Evaluation {
  double loss = 0;  // mean over samples, without regularisers
  std::vector<std::pair<std::string, double>> metrics;
  std::int64_t samples = 0;
};

struct EvaluatorOptions {
  std::int64_t batch = 32;
  std::int64_t virtual_ranks = 1;
  data::TargetForm targets = data::TargetForm::labels;
  int input_threads = 1;
};

class Evaluator {
 public:
  // Compiles inference programs with loss and metrics. References outlive the evaluator.
  Evaluator(backend::Backend& backend, comm::Communicator& communicator, const graph::ParameterLayout& layout,
            const GraphMaker& make_graph, std::shared_ptr<const data::Source> source,
            const EvaluatorOptions& options);

  std::int64_t arena_bytes() const { return programs_.arena_bytes(); }

  // A collective. `interrupted` is asked between batches, on all ranks alike; when it says yes the evaluation
  // is given up.
  std::optional<Evaluation> run(float* parameters, std::byte* arena,
                                const std::function<bool()>& interrupted);

 private:
  void add_leaf(const data::LeafBatch& leaf, float* parameters, std::byte* arena, double* sums);
  Evaluation combine(const std::vector<double>& mine, std::size_t leaves);

  comm::Communicator& communicator_;
  std::shared_ptr<const data::Source> source_;
  EvaluatorOptions options_;
  Programs programs_;
  std::vector<float> statistics_;
};

}  // namespace stoker::trainer
