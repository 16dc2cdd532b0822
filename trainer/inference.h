// What evaluate and predict share: model, data and programs without gradients.
#pragma once

#include <memory>
#include <string>

#include "lib/keras/losses_metrics.h"
#include "trainer/evaluator.h"
#include "trainer/options.h"
#include "trainer/parameter_store.h"

namespace stoker::trainer {

// Seconds that the ranks of evaluate and predict have to find each other.
inline constexpr double kStartTimeout = 60;

struct InferenceSetup {
  std::shared_ptr<const keras::Model> model;
  std::shared_ptr<const data::Source> data;
  keras::Objective objective;  // with targets only
  std::unique_ptr<backend::Backend> backend;
  graph::ParameterLayout layout;
  std::unique_ptr<ParameterStore> store;

  // With loss and metrics (evaluate), or with the prediction bound to the output (predict).
  GraphMaker graph_maker(bool with_loss) const;
  Evaluator make_evaluator(comm::Communicator& communicator, std::int64_t batch) const;
};

// Options model (a file, or a run's directory or checkpoint), weights, data, loss, metrics, threads, device.
// Throws UserError.
InferenceSetup prepare_inference(const comm::Communicator& communicator, const Options& options,
                                 bool with_targets);

}  // namespace stoker::trainer
