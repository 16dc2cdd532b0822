#include "trainer/job.h"

#include <algorithm>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/hash.h"
#include "lib/base/log.h"
#include "lib/base/split.h"
#include "lib/base/text.h"
#include "lib/data/memory_limit.h"

namespace stoker::trainer {
namespace {

// (28, 28) data fit a (28, 28, 1) input: axes of one element make no difference to the order in memory.
bool same_but_for_ones(const Shape& a, const Shape& b) {
  const auto essence = [](const Shape& shape) {
    std::vector<std::int64_t> dims;
    for (const std::int64_t d : shape.dims())
      if (d != 1) dims.push_back(d);
    return dims;
  };
  return essence(a) == essence(b);
}

void freeze_layers(keras::Model& model, const std::vector<std::string>& globs) {
  for (const std::string& glob : globs) {
    bool any = false;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      if (!glob_match(glob, model.layers[i]->name) && !glob_match(glob, model.layer_paths[i])) continue;
      any = true;
      model.layers[i]->trainable = false;
      for (const std::int64_t k : model.layer_weights[i])
        model.weights[static_cast<std::size_t>(k)].trainable = false;
    }
    if (!any)
      throw UserError("no layer matches", "--freeze " + glob,
                      "`stoker inspect " + model.origin + "` lists them");
  }
  if (model.parameter_count(true) == 0)
    throw UserError("nothing is left to train", model.origin, "freeze fewer layers");
}

void open_data(Job& job, data::OpenOptions open) {
  const TrainOptions& o = job.options;
  std::shared_ptr<const data::Source> all = data::open_source(o.train_data, open);
  open.class_names = all->description().class_names;
  job.train = all;
  if (o.validation) job.validation = data::open_source(*o.validation, open);
  if (o.validation_split > 0) {
    const std::int64_t n = all->description().samples;
    const std::int64_t held = static_cast<std::int64_t>(static_cast<double>(n) * o.validation_split);
    if (held < 1 || held >= n)
      throw UserError("--validation-split leaves nothing for one of the two", o.train_data,
                      "give another fraction");
    job.train = data::slice(all, 0, n - held);
    job.validation = data::slice(all, n - held, n);
  }
}

// Else the model is to learn other classes: a warning.
bool knows_labels(const Job& job) {
  const std::vector<std::string>& known = job.model.trained_with.class_names;
  const data::Description& d = job.train->description();
  for (const std::string& name : d.class_names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    say_warning("the label '" + name + "' of " + d.spec + " is none of those that " + job.model.origin +
                " was trained with (" + join(known, ", ") + "): labels are numbered anew");
    return false;
  }
  return true;
}

void load_the_model(Job& job) {
  const TrainOptions& o = job.options;
  job.model = keras::load_model(o.model, o.seed, job.train->description().x_shape);
  Hash128 digest;
  digest.update(job.model.to_json().dump());
  job.model_digest = digest.hex();
  if (o.weights) keras::load_weights(job.model, *o.weights);
  freeze_layers(job.model, o.freeze);
  check_input(job.model, *job.train);
  if (job.validation) check_input(job.model, *job.validation);
}

void resolve_the_objective(Job& job) {
  const auto metrics = job.options.metrics_given ? std::optional(job.options.metrics) : std::nullopt;
  job.objective = keras::resolve_objective(job.model, describe_targets(job.train->description()),
                                           job.options.loss, metrics);
  job.target_form = job.objective.label_targets ? data::TargetForm::labels : data::TargetForm::values;
  check_targets(job.objective, *job.train);
  if (job.validation) check_targets(job.objective, *job.validation);
  keras::TrainedWith& with = job.model.trained_with;
  with = {job.train->description().class_names, job.objective.loss_text, {}};
  for (const keras::Metric& metric : job.objective.metrics) with.metrics.push_back(metric.name);
}

void set_lengths(Job& job) {
  const std::int64_t samples = job.train->description().samples, batch = job.options.batch_size;
  job.steps_per_epoch = (samples - 1) / batch + 1;
  std::int64_t steps = INT64_MAX;
  if (job.options.epochs) steps = std::min(steps, *job.options.epochs * job.steps_per_epoch);
  if (job.options.steps) steps = std::min(steps, *job.options.steps);
  job.total_steps = steps;
}

// A schedule whose length came from the run's length keeps the length it began with. A longer run has run out
// of it and needs one that the user gives anew, by its own lengths.
bool has_run_out(const nlohmann::json& saved, std::int64_t total_steps) {
  return saved.is_object() && saved.value("schedule-from-run", std::int64_t{0}) > 0 &&
         total_steps > saved["schedule-from-run"].get<std::int64_t>();
}

void keep_schedule(Job& job, const nlohmann::json& saved) {
  if (!saved.is_object() || saved.value("schedule-from-run", std::int64_t{0}) == 0) return;
  const std::string text = job.options.schedule.value_or("");
  const bool given_anew = !text.empty() && text != saved.value("schedule-text", "");
  if (has_run_out(saved, job.total_steps) && !given_anew)
    throw UserError("the learning-rate schedule has run out",
                    saved.value("schedule", "") + ", " + std::to_string(job.total_steps) + " steps in all",
                    "give --schedule anew, with lengths of its own, or end at the steps it was made for");
  if (given_anew) return;
  job.schedule = optim::parse_schedule(saved.value("schedule", ""), job.learning_rate, job.total_steps);
  job.schedule_from_run = saved["schedule-from-run"].get<std::int64_t>();
}

void choose_optimizer(Job& job, const nlohmann::json& saved) {
  const TrainOptions& o = job.options;
  const std::optional<nlohmann::json> file = keras::file_optimizer(job.model);
  optim::OptimizerChoice choice =
      !o.optimizer && file
          ? optim::optimizer_from_keras(*file, o.model, o.clip_norm)
          : optim::optimizer_from_options(parse_named_options(o.optimizer.value_or("adam"), "--optimizer"),
                                          o.clip_norm);
  job.optimizer = std::move(choice.optimizer);
  job.learning_rate = o.learning_rate.value_or(choice.learning_rate);
  if (o.schedule)
    job.schedule = optim::parse_schedule(*o.schedule, job.learning_rate, job.total_steps);
  else if (choice.schedule && !o.learning_rate)
    job.schedule = *choice.schedule;
  else
    job.schedule = optim::Schedule::constant(job.learning_rate);
  if (job.schedule.length_from_run()) job.schedule_from_run = job.schedule.length().value_or(0);
  keep_schedule(job, saved);
}

void set_virtual_ranks(Job& job, int ranks, const nlohmann::json& saved) {
  const TrainOptions& o = job.options;
  job.virtual_ranks = o.virtual_ranks.value_or(
      saved.is_object() ? saved.value("virtual-ranks", std::int64_t{ranks}) : std::int64_t{ranks});
  const std::string v = "--virtual-ranks " + std::to_string(job.virtual_ranks);
  if (ranks > o.batch_size)
    throw UserError("the batch is smaller than the ranks", "--batch-size " + std::to_string(o.batch_size),
                    "give at least " + std::to_string(ranks) + ", or start fewer ranks");
  if (job.virtual_ranks > o.batch_size)
    throw UserError("more virtual ranks than samples in a batch",
                    v + ", --batch-size " + std::to_string(o.batch_size),
                    "give a larger batch or fewer virtual ranks");
  if (job.virtual_ranks > comm::kMaxLeaves)
    throw UserError("too many virtual ranks", v, "give at most " + std::to_string(comm::kMaxLeaves));
  if (ranks > job.virtual_ranks)
    throw UserError("more ranks than virtual ranks", std::to_string(ranks) + " ranks, " + v,
                    "start at most " + std::to_string(job.virtual_ranks) + " ranks" +
                        (saved.is_object() ? ": the run was begun with so many virtual ranks" : ""));
}

}  // namespace

std::uint64_t data_memory(const comm::Communicator& communicator) {
  return data::memory_limit() / 4 / static_cast<std::uint64_t>(communicator.local_ranks().node_size);
}

void check_input(const keras::Model& model, const data::Source& source) {
  const data::Description& d = source.description();
  if (!same_but_for_ones(model.input_shape(), d.x_shape))
    throw UserError("the data do not fit the model", d.spec + ": x has shape " + to_string(d.x_shape),
                    model.origin + " takes " + to_string(model.input_shape()) + "; " +
                        (d.x_shape.rank() == 1
                             ? "the last column is the label unless DATA says label=COLUMN or label=none"
                             : "give other data, or ?shape= or ?layout=chw in DATA"));
}

bool numbers_labels_otherwise(const keras::Model& model, const data::Description& d) {
  const std::vector<std::string>& known = model.trained_with.class_names;
  return !known.empty() && !d.class_names.empty() && known != d.class_names;
}

keras::TargetDescription describe_targets(const data::Description& d) {
  if (d.y_kind == data::TargetKind::none)
    throw UserError("the data have no labels", d.spec, "name them in DATA (y=, label=)");
  keras::TargetDescription target;
  target.integer_labels = d.y_kind == data::TargetKind::labels;
  target.shape = d.y_shape;
  target.classes = d.classes;
  target.where = d.spec;
  return target;
}

void check_targets(const keras::Objective& objective, const data::Source& source) {
  if (!objective.label_targets) return data::check_targets_finite(source);
  const data::Description& d = source.description();
  const auto names = static_cast<std::int64_t>(d.class_names.size());
  const std::string found = std::to_string(names) + " text labels (" + join(d.class_names, ", ") + ")";
  if (names > objective.classes && objective.classes > 0)
    throw UserError(
        "the data have " + found + ", the model has " + std::to_string(objective.classes) + " outputs",
        d.spec, "mend the labels, or use a model with an output for each");
  if (names > 0 && names < objective.classes)
    say_warning(
        d.spec + " has " + found + " for a model of " + std::to_string(objective.classes) +
        " outputs: if it lacks some, say all of them in DATA, in the order of the outputs: classes=A/B/…");
  data::check_labels(source, objective.classes);
}

void set_objective(const keras::Objective& objective, keras::GraphOptions& graph) {
  graph.loss = objective.loss;
  for (const keras::Metric& metric : objective.metrics)
    graph.metrics.emplace_back(metric.name, metric.attributes);
  graph.target_shape = objective.target_shape;
  graph.target_dtype = objective.label_targets ? DType::i32 : DType::f32;
}

Job prepare_job(const TrainOptions& options, const comm::Communicator& communicator,
                const nlohmann::json& saved) {
  Job job;
  job.options = options;
  job.augmentation = data::parse_augmentation(options.augment);
  set_virtual_ranks(job, communicator.size(), saved);
  data::OpenOptions open;
  open.memory_bytes = data_memory(communicator);
  open_data(job, open);
  data::Augmenter(job.augmentation, job.train->description().x_shape,
                  options.seed);  // throws if it does not suit
  load_the_model(job);
  if (numbers_labels_otherwise(job.model, job.train->description()) && knows_labels(job)) {
    open.class_names = job.model.trained_with.class_names;
    open_data(job, open);
  }
  resolve_the_objective(job);
  set_lengths(job);
  choose_optimizer(job, saved);
  return job;
}

nlohmann::json Job::identity() const {
  return {{"model", model_digest},
          {"train", train->description().digest},
          {"batch-size", options.batch_size},
          {"virtual-ranks", virtual_ranks},
          {"optimizer", optimizer->describe()},
          {"loss", objective.loss_text},
          {"schedule", schedule.describe()},
          {"schedule-text", options.schedule.value_or("")},
          {"schedule-from-run", schedule_from_run},
          {"learning-rate", learning_rate},
          {"seed", options.seed},
          {"shuffle", options.shuffle},
          {"augment", data::to_text(augmentation)},
          {"freeze", options.freeze}};
}

GraphMaker Job::graph_maker(bool training) const {
  return [this, training](std::int64_t n) {
    keras::GraphOptions graph;
    graph.batch = n;
    graph.training = training;
    set_objective(objective, graph);
    return keras::build_graph(model, graph);
  };
}

graph::ParameterLayout Job::layout() const { return layout_of(model, graph_maker(true)(1)); }

graph::ParameterLayout layout_of(const keras::Model& model, const graph::Graph& training_graph) {
  std::vector<bool> trainable;
  std::vector<std::int64_t> sizes;
  for (const keras::Weight& weight : model.weights) {
    trainable.push_back(weight.trainable);
    sizes.push_back(weight.spec.shape.elements());
  }
  return graph::make_layout(training_graph, sizes, trainable);
}

void check_identity(const Job& job, const nlohmann::json& saved, const std::string& directory) {
  struct Entry {
    const char* key;
    const char* what;
    bool of_schedule;
  };
  static constexpr Entry kEntries[] = {{"model", "another model (--model)", false},
                                       {"train", "other data (--train)", false},
                                       {"batch-size", "another --batch-size", false},
                                       {"virtual-ranks", "another --virtual-ranks", false},
                                       {"optimizer", "another --optimizer", false},
                                       {"loss", "another --loss", false},
                                       {"schedule", "another --schedule or --learning-rate", true},
                                       {"learning-rate", "another --learning-rate", true},
                                       {"seed", "another --seed", false},
                                       {"shuffle", "another --shuffle", false},
                                       {"augment", "another --augment", false},
                                       {"freeze", "another --freeze", false}};
  const nlohmann::json mine = job.identity();
  const bool new_schedule = has_run_out(saved, job.total_steps);
  for (const Entry& entry : kEntries) {
    const nlohmann::json was =
        saved.is_object() ? saved.value(entry.key, nlohmann::json()) : nlohmann::json();
    if (was == mine[entry.key] || (entry.of_schedule && new_schedule)) continue;
    throw UserError(std::string("the run had ") + entry.what,
                    directory + ": it was " + was.dump() + ", now " + mine[entry.key].dump(),
                    "give the same again, or a new --output");
  }
}

}  // namespace stoker::trainer
