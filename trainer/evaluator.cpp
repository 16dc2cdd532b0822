#include "trainer/evaluator.h"

#include <algorithm>
#include <cstring>

#include "lib/comm/leaf_tree.h"

namespace stoker::trainer {

Evaluator::Evaluator(backend::Backend& backend, comm::Communicator& communicator,
                     const graph::ParameterLayout& layout, const GraphMaker& make_graph,
                     std::shared_ptr<const data::Source> source, const EvaluatorOptions& options)
    : communicator_(communicator),
      source_(std::move(source)),
      options_(options),
      programs_(backend, layout, make_graph, source_->description().samples, options.batch,
                options.virtual_ranks),
      statistics_(static_cast<std::size_t>(programs_.graph().statistics_size)) {}

void Evaluator::add_leaf(const data::LeafBatch& leaf, float* parameters, std::byte* arena, double* sums) {
  if (leaf.samples == 0) return;
  backend::StepArguments arguments;
  arguments.input = leaf.x;
  arguments.target = leaf.labels != nullptr ? static_cast<const void*>(leaf.labels) : leaf.values;
  arguments.parameters = parameters;
  arguments.statistics = statistics_.data();
  arguments.arena = arena;
  programs_.of(leaf.samples).run_forward(arguments);
  for (std::size_t i = 0; i < statistics_.size(); ++i) sums[i] += static_cast<double>(statistics_[i]);
}

std::optional<Evaluation> Evaluator::run(float* parameters, std::byte* arena,
                                         const std::function<bool()>& interrupted) {
  const comm::LeafRange leaves = comm::leaves_of_rank(communicator_.rank(), communicator_.size(),
                                                      static_cast<int>(options_.virtual_ranks));
  data::LoaderOptions loading;
  loading.batch = options_.batch;
  loading.virtual_ranks = options_.virtual_ranks;
  loading.first_leaf = leaves.begin;
  loading.end_leaf = leaves.end;
  loading.targets = options_.targets;
  loading.end_epoch = 1;
  loading.threads = options_.input_threads;
  data::Loader loader(source_, loading);
  std::vector<double> sums(statistics_.size() * static_cast<std::size_t>(leaves.size()));
  for (std::int64_t step = 0; step < loader.steps_per_epoch(); ++step) {
    const data::StepBatch& batch = loader.next();
    for (std::size_t leaf = 0; leaf < batch.leaves.size(); ++leaf)
      add_leaf(batch.leaves[leaf], parameters, arena, sums.data() + leaf * statistics_.size());
    if (interrupted()) return std::nullopt;
  }
  return combine(sums, static_cast<std::size_t>(leaves.size()));
}

Evaluation Evaluator::combine(const std::vector<double>& mine, std::size_t leaves) {
  const std::size_t width = statistics_.size();
  const auto parts =
      communicator_.all_gather({reinterpret_cast<const char*>(mine.data()), width * leaves * sizeof(double)});
  std::vector<double> total(width), row(width);
  for (const std::string& part : parts)  // rank by rank is leaf by leaf
    for (std::size_t at = 0; at < part.size(); at += width * sizeof(double)) {
      std::memcpy(row.data(), part.data() + at, width * sizeof(double));
      std::transform(total.begin(), total.end(), row.begin(), total.begin(), std::plus<>());
    }
  Evaluation result;
  result.samples = source_->description().samples;
  const double weight = static_cast<double>(result.samples);
  for (const graph::Statistic& statistic : programs_.graph().statistics) {
    const double mean = total[static_cast<std::size_t>(statistic.offset)] / weight;
    if (statistic.name == "loss") result.loss = mean;
    if (statistic.name.rfind("metric/", 0) == 0) result.metrics.emplace_back(statistic.name.substr(7), mean);
  }
  return result;
}

}  // namespace stoker::trainer
