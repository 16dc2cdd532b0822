// A training job with everything resolved: model, data, loss, metrics, optimizer, schedule, lengths. The same
// on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/comm/communicator.h"
#include "lib/data/loader.h"
#include "lib/data/source.h"
#include "lib/keras/losses_metrics.h"
#include "lib/keras/model.h"
#include "lib/optim/optimizer.h"
#include "trainer/programs.h"
#include "trainer/train_options.h"

namespace stoker::trainer {

struct Job {
  TrainOptions options;
  keras::Model model;
  std::string model_digest;
  std::shared_ptr<const data::Source> train, validation;  // validation may be null
  data::Augmentation augmentation;
  keras::Objective objective;
  data::TargetForm target_form = data::TargetForm::labels;
  std::unique_ptr<optim::Optimizer> optimizer;
  double learning_rate = 0;
  optim::Schedule schedule = optim::Schedule::constant(0);
  std::int64_t schedule_from_run = 0;  // steps of a schedule whose length came from the run's; else 0
  std::int64_t virtual_ranks = 1;
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 1;

  // What must be the same when the run is resumed, by the name of the option that says it: {"batch-size": 32,
  // …}.
  nlohmann::json identity() const;
  // The graph of a microbatch of n samples.
  GraphMaker graph_maker(bool training) const;
  graph::ParameterLayout layout() const;
};

// Shared with evaluate and predict.
//
// What a rank may hold of its data in memory: the node's share divided among its ranks.
std::uint64_t data_memory(const comm::Communicator& communicator);
// Throws UserError if the samples do not fit the model's input; axes of length 1 make no difference.
void check_input(const keras::Model& model, const data::Source& source);
keras::TargetDescription describe_targets(
    const data::Description& description);  // UserError if there are none
// The data's text labels have other numbers than those that the model was trained with, as in a file that
// lacks some of them: opened again with the model's names they agree.
bool numbers_labels_otherwise(const keras::Model& model, const data::Description& data);
// Reads every target once; a warning where text labels are fewer than the model's outputs. Throws UserError
// naming the sample whose label is out of range or whose value is not finite.
void check_targets(const keras::Objective& objective, const data::Source& source);
// Where each weight of the model lies in the flat buffers; any training graph of it says.
graph::ParameterLayout layout_of(const keras::Model& model, const graph::Graph& training_graph);
void set_objective(const keras::Objective& objective, keras::GraphOptions& graph);

// Reads and checks everything but the checkpoint. Throws UserError. `saved` is the identity of the run that
// is to be gone on with, or null; virtual ranks and the schedule are taken from it where the options leave
// them open.
Job prepare_job(const TrainOptions& options, const comm::Communicator& communicator,
                const nlohmann::json& saved);

// Throws UserError, naming the first option that differs, if `job` is not the run that `saved` describes. A
// schedule that has run out may be another one.
void check_identity(const Job& job, const nlohmann::json& saved, const std::string& directory);

}  // namespace stoker::trainer
