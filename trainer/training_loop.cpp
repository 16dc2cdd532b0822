#include "trainer/training_loop.h"

#include <algorithm>
#include <cmath>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "trainer/agree.h"
#include "trainer/moving_statistics.h"
#include "trainer/stop_signals.h"

namespace stoker::trainer {
namespace {

using telemetry::Phase;
using telemetry::StepClock;

double monotonic_seconds() { return 1e-9 * static_cast<double>(telemetry::monotonic_ns()); }

std::vector<std::pair<std::string, double>> means(const MetricSums& sums, const keras::Objective& objective) {
  std::vector<std::pair<std::string, double>> out;
  for (std::size_t i = 0; i < objective.metrics.size(); ++i)
    out.emplace_back(objective.metrics[i].name, sums.metrics[i] / sums.weight);
  return out;
}

}  // namespace

TrainingLoop::TrainingLoop(const LoopParts& parts, LoopState state, data::Loader& loader)
    : parts_(parts),
      state_(std::move(state)),
      loader_(loader),
      progress_(log_is_terminal()),
      line_started_(monotonic_seconds()),
      save_started_(line_started_),
      run_started_(line_started_ - state_.seconds),
      shown_at_(line_started_) {
  state_.since_line.metrics.resize(parts_.job.objective.metrics.size());
  state_.of_epoch.metrics.resize(parts_.job.objective.metrics.size());
}

int TrainingLoop::run() {
  const std::int64_t first_validation = state_.validation_due ? state_.step : -1;
  bool going_on = !state_.validation_due || validate();
  while (going_on && state_.step < parts_.job.total_steps) going_on = step();
  const bool done = going_on;
  const StepClock::Scope in(parts_.clock, Phase::checkpoint_stall);
  if (parts_.saver.last_step() != state_.step || state_.step == first_validation) save();
  // A line of the steps since the last one. It comes after the checkpoint: a longer run that goes on from
  // that one has no line here, as one that was never interrupted.
  if (done && state_.since_line.weight > 0) write_train_line();
  if (const std::string failure = parts_.saver.finish(); !failure.empty()) end_without_checkpoint(failure);
  return done ? kExitDone : kExitStoppedWithCheckpoint;
}

void TrainingLoop::end_without_checkpoint(const std::string& failure) {
  if (parts_.communicator.rank() == 0)
    say_error("the last checkpoint was not written: " + failure +
              "; older checkpoints are good, run it again to go on from the newest");
  throw EndTogether(kExitSystem);
}

bool TrainingLoop::step() {
  StepClock& clock = parts_.clock;
  const data::StepBatch* batch = nullptr;
  {
    const StepClock::Scope in(clock, Phase::input_wait);
    parts_.communicator.set_activity(state_.step + 1, "waiting for input");
    batch = &loader_.next();
  }
  parts_.engine.run(*batch, parts_.job.options.seed, state_.step + 1, votes());
  update(*batch);
  const bool epoch_ended = batch->last_of_epoch;
  const bool stop = parts_.engine.vote(Vote::stop) > 0, save_asked = parts_.engine.vote(Vote::save) > 0;
  parts_.saver.after_step(parts_.engine.vote(Vote::shard_durable), parts_.engine.vote(Vote::save_failed));
  if (state_.step % parts_.job.options.log_every == 0) write_train_line();
  show(epoch_ended);
  if (epoch_ended) state_.of_epoch.clear();
  state_.validation_due = epoch_ended && parts_.evaluator != nullptr;
  const bool all_done = state_.step >= parts_.job.total_steps && !state_.validation_due;
  if ((stop && !all_done) || (state_.validation_due && !validate())) return false;
  maybe_save(epoch_ended, save_asked);
  return true;
}

Votes TrainingLoop::votes() const {
  Votes votes{};
  const auto set = [&](Vote which, bool yes) { votes[static_cast<std::size_t>(which)] = yes ? 1.0f : 0.0f; };
  const CheckpointInterval& every = parts_.job.options.checkpoint_every;
  const bool by_clock = every.seconds > 0 && parts_.communicator.rank() == 0 &&
                        monotonic_seconds() - save_started_ >= every.seconds;
  set(Vote::stop, stop_requested() || job_ends_within(5 + 3 * parts_.saver.last_save_seconds()));
  set(Vote::save, by_clock || take_save_request());
  parts_.saver.vote(votes);
  return votes;
}

void TrainingLoop::update(const data::StepBatch& batch) {
  const StepClock::Scope in(parts_.clock, Phase::optimizer);
  parts_.communicator.set_activity(state_.step + 1, "optimizer");
  ParameterStore& store = parts_.store;
  const graph::Graph& graph = parts_.engine.graph();
  const double samples = static_cast<double>(batch.samples);
  const double loss = static_cast<double>(parts_.engine.statistic("loss")) / samples +
                      optim::regularization_loss(store.ranges(), store.parameters());
  if (!std::isfinite(loss)) end_with_non_finite(batch);
  parts_.job.optimizer->update(state_.step, parts_.job.schedule.learning_rate(state_.step), store.ranges(),
                               store.parameters(), parts_.engine.gradients(), store.slots());
  update_moving_statistics(graph, store.layout(), parts_.engine.statistics(), batch.samples,
                           store.parameters());
  add_to_sums(batch, loss);
  ++state_.step;
  state_.epoch = batch.last_of_epoch ? batch.epoch + 1 : batch.epoch;
  state_.position = batch.last_of_epoch ? 0 : batch.position + batch.samples;
  samples_done_ += batch.samples;
  line_samples_ += samples;
  shown_samples_ += samples;
}

void TrainingLoop::add_to_sums(const data::StepBatch& batch, double loss) {
  const double samples = static_cast<double>(batch.samples);
  for (MetricSums* sums : {&state_.since_line, &state_.of_epoch}) {
    sums->weight += samples;
    sums->loss += loss * samples;
    for (std::size_t i = 0; i < sums->metrics.size(); ++i)
      sums->metrics[i] +=
          static_cast<double>(parts_.engine.statistic("metric/" + parts_.job.objective.metrics[i].name));
  }
}

void TrainingLoop::end_with_non_finite(const data::StepBatch& batch) {
  const std::int64_t step = state_.step + 1;
  const std::optional<std::string> mine = parts_.engine.find_non_finite(batch, parts_.job.options.seed, step);
  for (const std::string& place : parts_.communicator.all_gather(mine.value_or(""))) {
    if (place.empty()) continue;
    if (parts_.communicator.rank() == 0)
      say_error("the loss is not finite: step " + std::to_string(step) + ", first in " + place +
                ": give a smaller --learning-rate or --clip-norm, or look at the data");
    throw EndTogether(kExitUser);
  }
  if (parts_.communicator.rank() == 0)
    say_error(
        "the loss is not finite: step " + std::to_string(step) +
        ", in the sum over the batch or the regularisers: give a smaller --learning-rate or --clip-norm");
  throw EndTogether(kExitUser);
}

void TrainingLoop::write_train_line() {
  const StepClock::Scope in(parts_.clock, Phase::logging);
  compare_ranks();
  const double now = monotonic_seconds();
  telemetry::MetricsLine line;
  line.phase = "train";
  // The line belongs to the step that was last done, which may have ended its epoch.
  line.epoch = (state_.step - 1) / parts_.job.steps_per_epoch;
  line.step = state_.step;
  line.loss = state_.since_line.loss / state_.since_line.weight;
  line.metrics = means(state_.since_line, parts_.job.objective);
  line.learning_rate = as_written(parts_.job.schedule.learning_rate(state_.step - 1));
  line.samples_per_second = line_samples_ / std::max(now - line_started_, 1e-9);
  line.time = telemetry::unix_seconds();
  state_.since_line.clear();
  line_started_ = now;
  line_samples_ = 0;
  if (!parts_.files.metrics) return;
  parts_.files.metrics->append(line);
  std::vector<telemetry::Scalar> scalars{{"loss", line.loss}};
  for (const auto& [name, value] : line.metrics) scalars.push_back({name, value});
  scalars.push_back({"learning_rate", *line.learning_rate});
  scalars.push_back({"samples_per_second", *line.samples_per_second});
  parts_.files.train_events->add(line.step, line.time, scalars);
}

void TrainingLoop::compare_ranks() {
  if (parts_.communicator.size() == 1) return;
  const std::vector<std::uint64_t> mine = parts_.store.digests();
  const auto all = parts_.communicator.all_gather(
      {reinterpret_cast<const char*>(mine.data()), mine.size() * sizeof(std::uint64_t)});
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] == all[0]) continue;
    const auto first = std::mismatch(all[0].begin(), all[0].end(), all[rank].begin()).first - all[0].begin();
    const auto weight = static_cast<std::size_t>(first) / sizeof(std::uint64_t);
    if (parts_.communicator.rank() == 0)
      say_error("the ranks' weights differ: step " + std::to_string(state_.step) + ", rank " +
                std::to_string(rank) + " on " + parts_.communicator.hosts()[rank] + ", " +
                parts_.store.ranges()[weight].name +
                ": suspect that node's memory; run it again without it to go on from the last checkpoint");
    throw EndTogether(kExitSystem);
  }
}

bool TrainingLoop::stop_voted_now() {
  std::int64_t stop = stop_requested() ? 1 : 0;
  parts_.communicator.reduce({&stop, 1}, comm::ReduceOperation::maximum);
  return stop > 0;
}

bool TrainingLoop::validate() {
  const StepClock::Scope in(parts_.clock, Phase::evaluation);
  parts_.communicator.set_activity(state_.step, "validation");
  int batches = 0;
  const auto interrupted = [&] { return ++batches % 16 == 0 && stop_voted_now(); };
  const std::optional<Evaluation> result =
      parts_.evaluator->run(parts_.store.parameters(), parts_.arena, interrupted);
  if (!result) return false;
  state_.validation_due = false;
  last_validation_ = result;
  telemetry::MetricsLine line;
  line.phase = "validation";
  line.epoch = (state_.step - 1) / parts_.job.steps_per_epoch;
  line.step = state_.step;
  line.loss = result->loss + optim::regularization_loss(parts_.store.ranges(), parts_.store.parameters());
  line.metrics = result->metrics;
  line.time = telemetry::unix_seconds();
  if (!state_.best_loss || line.loss < *state_.best_loss) {
    state_.best_loss = line.loss;
    state_.best_step = state_.step;
  }
  std::string text = fmt::format("epoch {}: validation loss {:.4f}", line.epoch + 1, line.loss);
  std::vector<telemetry::Scalar> scalars{{"loss", line.loss}};
  for (const auto& [name, value] : line.metrics) {
    scalars.push_back({name, value});
    text += fmt::format(", {} {:.4f}", name, value);
  }
  say_line(text);
  if (!parts_.files.metrics) return true;
  parts_.files.metrics->append(line);
  parts_.files.validation_events->add(line.step, line.time, scalars);
  return true;
}

void TrainingLoop::maybe_save(bool epoch_ended, bool asked) {
  const CheckpointInterval& every = parts_.job.options.checkpoint_every;
  const bool by_steps = every.steps > 0 && state_.step % every.steps == 0;
  const bool by_epochs = every.epochs > 0 && epoch_ended && state_.epoch % every.epochs == 0;
  if (!by_steps && !by_epochs && !asked) return;
  const StepClock::Scope in(parts_.clock, Phase::checkpoint_stall);
  save();
}

void TrainingLoop::save() {
  parts_.communicator.set_activity(state_.step, "checkpoint");
  save_started_ = monotonic_seconds();
  state_.seconds = save_started_ - run_started_;
  if (parts_.files.metrics) {
    parts_.files.metrics->sync();
    state_.metrics_bytes = parts_.files.metrics->length();
  }
  parts_.saver.mark_best(state_.best_step);
  parts_.saver.begin(state_.step, parts_.store.sources(), checkpoint_document());
}

nlohmann::json TrainingLoop::checkpoint_document() const {
  const Job& job = parts_.job;
  return {{"state", to_json(state_)},
          {"identity", job.identity()},
          {"total_steps", job.total_steps},
          {"options", job.options.as_given},
          {"model", job.model.to_json()},
          {"class_names", job.model.trained_with.class_names},
          {"metrics", job.model.trained_with.metrics},
          {"threads", parts_.threads},
          {"all-reduce", job.options.library_all_reduce ? "library" : "tree"}};
}

void TrainingLoop::show(bool epoch_ended) {
  if (parts_.communicator.rank() != 0) return;
  const double now = monotonic_seconds();
  if (!progress_.due(now, epoch_ended)) return;
  const telemetry::PhaseTimes times = parts_.clock.read();
  telemetry::ProgressFigures figures;
  figures.step = state_.step;
  figures.total_steps = parts_.job.total_steps;
  figures.epoch = (state_.step - 1) / parts_.job.steps_per_epoch;
  figures.total_epochs = (parts_.job.total_steps - 1) / parts_.job.steps_per_epoch + 1;
  figures.loss = state_.of_epoch.loss / state_.of_epoch.weight;
  const auto metrics = means(state_.of_epoch, parts_.job.objective);
  if (!metrics.empty()) figures.metric = metrics[0];
  figures.samples_per_second = shown_samples_ / std::max(now - shown_at_, 1e-9);
  figures.seconds_left = static_cast<double>(parts_.job.total_steps - state_.step) *
                         static_cast<double>(parts_.job.options.batch_size) /
                         std::max(figures.samples_per_second, 1e-9);
  figures.device_busy = times.since(shown_times_).busy();
  telemetry::show_progress(figures);
  shown_times_ = times;
  shown_samples_ = 0;
  shown_at_ = now;
}

}  // namespace stoker::trainer
