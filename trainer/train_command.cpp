// `stoker train`: puts a run together and ends it. The parts: job.h (what is asked for), resume.h (where to
// begin), training_loop.h (the steps).
#include <sys/resource.h>

#include <fstream>

#include "config.h"
#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/hdf5/hdf5_file.h"
#include "lib/telemetry/report.h"
#include "lib/telemetry/run_record.h"
#include "trainer/agree.h"
#include "trainer/command.h"
#include "trainer/compute_threads.h"
#include "trainer/device.h"
#include "trainer/memory_report.h"
#include "trainer/resume.h"
#include "trainer/stop_signals.h"
#include "trainer/training_loop.h"

namespace stoker::trainer {
namespace {

using telemetry::Phase;
using telemetry::StepClock;

// One attempt at a run. Members are in the order in which they come to be.
class Attempt {
 public:
  Attempt(comm::Communicator& communicator, TrainOptions options)
      : communicator_(communicator), options_(std::move(options)), is_root_(communicator.rank() == 0) {}

  int run();

 private:
  void open_output();
  void resolve();
  void warn_of_other_bits() const;
  bool is_finished();
  int end_as_finished();
  void build();
  void build_evaluator();
  void begin_files();
  void begin_record();
  void say_what_begins() const;
  data::LoaderOptions loader_options() const;
  checkpoint::WriterOptions writer_options();
  int loop();
  void write_model();
  void close_record(int code, const TrainingLoop& loop);
  void write_report(int code, const TrainingLoop& loop);

  comm::Communicator& communicator_;
  TrainOptions options_;
  bool is_root_;
  StepClock clock_;
  std::optional<DirectoryLock> lock_;
  std::optional<ResumePoint> resume_;
  std::optional<Job> job_;
  ComputeThreads threads_;
  std::unique_ptr<backend::Backend> backend_;
  graph::ParameterLayout layout_;
  std::optional<Programs> programs_;
  std::optional<ParameterStore> store_;
  std::optional<Evaluator> evaluator_;
  std::unique_ptr<backend::Memory> arena_;
  std::optional<StepEngine> engine_;
  MemoryReport memory_;
  LoopState state_;
  std::optional<data::Loader> loader_;
  std::optional<Saver> saver_;
  LoopFiles files_;
  std::optional<telemetry::RunRecord> record_;
};

int Attempt::run() {
  communicator_.start_watchdog({.silent_seconds = options_.timeout, .stuck_seconds = 20 * options_.timeout});
  install_stop_signals();
  open_output();
  resume_ = find_resume_point(communicator_, options_);
  agree(communicator_, [&] { resolve(); });
  if (is_finished()) return end_as_finished();
  agree(communicator_, [&] { build(); });
  if (resume_) load_resume_point(communicator_, *resume_, *store_);
  communicator_.prepare_sums(static_cast<int>(job_->virtual_ranks),
                             options_.library_all_reduce ? comm::SumMode::library : comm::SumMode::tree);
  memory_.communication = communicator_.sum_scratch_bytes();
  saver_.emplace(communicator_, writer_options());
  agree(communicator_, [&] {
    loader_.emplace(job_->train, loader_options());
    if (is_root_) begin_files();
  });
  say_what_begins();
  return loop();
}

void Attempt::open_output() {
  agree(communicator_, [&] {
    if (!is_root_) return;
    make_directories(options_.output);
    lock_.emplace(options_.output);
    log_set_file(options_.output + "/log.txt");
  });
}

void Attempt::resolve() {
  const nlohmann::json saved =
      resume_ ? resume_->document.value("identity", nlohmann::json()) : nlohmann::json();
  job_ = prepare_job(options_, communicator_, saved);
  threads_ = choose_compute_threads(options_.threads, communicator_.local_ranks());
  if (!resume_) return;
  check_identity(*job_, saved, options_.output);
  state_ = resume_->state;
  state_.validation_due = state_.validation_due && job_->validation;
  warn_of_other_bits();
}

// What may differ between attempts, but changes the last bits of the sums.
void Attempt::warn_of_other_bits() const {
  const nlohmann::json& saved = resume_->document;
  if (const int before = saved.value("threads", threads_.threads); before != threads_.threads)
    say_warning(
        fmt::format("the checkpoint is of {} compute thread{} a rank, now {}: the last bits will differ; "
                    "--threads {} keeps them",
                    before, before == 1 ? "" : "s", threads_.threads, before));
  const std::string mode = options_.library_all_reduce ? "library" : "tree";
  if (saved.value("all-reduce", mode) != mode)
    say_warning("the checkpoint is of a run with another --all-reduce: the last bits will differ");
}

// All steps are done, and what comes after the last: its validation, and the line that is written after its
// checkpoint.
bool Attempt::is_finished() {
  if (!resume_ || state_.step < job_->total_steps || state_.validation_due) return false;
  if (state_.since_line.weight == 0) return true;
  std::int64_t has_last_line =
      is_root_ && telemetry::has_lines_after(options_.output + "/metrics.jsonl", state_.metrics_bytes) ? 1
                                                                                                       : 0;
  communicator_.broadcast(&has_last_line, sizeof has_last_line, 0);
  return has_last_line != 0;
}

int Attempt::end_as_finished() {
  agree(communicator_, [&] {
    if (!is_root_) return;
    say_line(fmt::format("{} is done: {} steps, asked for are {}; more --epochs or --steps go on from there",
                         options_.output, resume_->state.step, job_->total_steps));
    if (path_exists(options_.output + "/model.h5")) return;
    backend_ = make_backend(options_.device, threads_.threads);
    layout_ = job_->layout();
    store_.emplace(*backend_, job_->model, layout_, nullptr);
    checkpoint::load(resume_->path, store_->targets(), checkpoint::Names::these);
    write_model();
  });
  return kExitDone;
}

void Attempt::build() {
  backend_ = make_backend(options_.device, threads_.threads);
  layout_ = job_->layout();
  programs_.emplace(*backend_, layout_, job_->graph_maker(true), job_->train->description().samples,
                    options_.batch_size, job_->virtual_ranks);
  store_.emplace(*backend_, job_->model, layout_, job_->optimizer.get());
  if (job_->validation) build_evaluator();
  memory_ = memory_of(*store_, communicator_.rank(), communicator_.size());
  memory_.arena = std::max(programs_->arena_bytes(), evaluator_ ? evaluator_->arena_bytes() : 0);
  arena_ = backend_->allocate(static_cast<std::size_t>(memory_.arena));
  engine_.emplace(*backend_, communicator_, *programs_, layout_, job_->virtual_ranks, clock_,
                  store_->parameters(), arena_->data());
  memory_.gradient_slots = engine_->slot_count();
  memory_.gradients = engine_->slot_count() * engine_->slot_bytes();
}

void Attempt::build_evaluator() {
  EvaluatorOptions evaluation;
  evaluation.batch = options_.batch_size;
  evaluation.virtual_ranks = job_->virtual_ranks;
  evaluation.targets = job_->target_form;
  evaluation.input_threads = std::max(1, options_.input_threads);
  evaluator_.emplace(*backend_, communicator_, layout_, job_->graph_maker(false), job_->validation,
                     evaluation);
}

checkpoint::WriterOptions Attempt::writer_options() {
  checkpoint::WriterOptions writer;
  writer.directory = options_.output + "/checkpoints";
  writer.rank = communicator_.rank();
  writer.ranks = communicator_.size();
  writer.keep = static_cast<int>(std::min<std::int64_t>(options_.keep, 1 << 30));
  writer.attempt = static_cast<std::uint64_t>(telemetry::unix_seconds() * 1e6);
  communicator_.broadcast(&writer.attempt, sizeof writer.attempt, 0);
  if (resume_) writer.resumed_from = resume_->state.step;
  return writer;
}

data::LoaderOptions Attempt::loader_options() const {
  const comm::LeafRange leaves =
      comm::leaves_of_rank(communicator_.rank(), communicator_.size(), static_cast<int>(job_->virtual_ranks));
  data::LoaderOptions loader;
  loader.batch = options_.batch_size;
  loader.virtual_ranks = job_->virtual_ranks;
  loader.first_leaf = leaves.begin;
  loader.end_leaf = leaves.end;
  loader.seed = options_.seed;
  loader.shuffle = options_.shuffle;
  loader.augmentation = job_->augmentation;
  loader.targets = job_->target_form;
  loader.start = {state_.epoch, state_.position};
  loader.end_epoch = (job_->total_steps - 1) / job_->steps_per_epoch + 1;
  loader.threads = std::max(1, options_.input_threads);
  return loader;
}

void Attempt::begin_files() {
  files_.metrics = std::make_unique<telemetry::MetricsLog>(options_.output + "/metrics.jsonl",
                                                           resume_ ? state_.metrics_bytes : 0);
  if (files_.metrics->missing_bytes() > 0)
    say_warning(options_.output +
                "/metrics.jsonl has lost lines that it had at the checkpoint: they stay lost");
  // What the checkpoint counts as not yet written goes from the earlier attempts' events too, as from
  // metrics.jsonl.
  const std::int64_t first_train = state_.step + (state_.since_line.weight > 0 ? 0 : 1),
                     first_validation = state_.step + (state_.validation_due ? 0 : 1);
  files_.train_events =
      std::make_unique<telemetry::EventFile>(options_.output + "/tensorboard/train", first_train);
  if (job_->validation)
    files_.validation_events =
        std::make_unique<telemetry::EventFile>(options_.output + "/tensorboard/validation", first_validation);
  begin_record();
}

void Attempt::begin_record() {
  telemetry::RunDescription run;
  std::ifstream cmdline("/proc/self/cmdline");
  for (std::string word; std::getline(cmdline, word, '\0');) run.command.push_back(word);
  run.options = options_.as_given;
  run.options["virtual-ranks"] = job_->virtual_ranks;
  run.options["loss"] = job_->objective.loss_text;
  run.options["loss-from"] = job_->objective.how;
  for (const keras::Metric& metric : job_->objective.metrics)
    run.options["metrics-resolved"][metric.name] = metric.resolved;
  run.options["optimizer"] = job_->optimizer->describe();
  run.options["learning-rate"] = job_->learning_rate;
  run.options["schedule"] = job_->schedule.describe();
  run.options["total-steps"] = job_->total_steps;
  run.seeds["seed"] = options_.seed;
  run.digests = {{"model", job_->model_digest}, {"train", job_->train->description().digest}};
  if (job_->validation) run.digests["validation"] = job_->validation->description().digest;
  run.versions = {
      {"stoker", PACKAGE_VERSION}, {"hdf5", hdf5::library_version()}, {"backend", backend_->description()}};
  run.instruction_set = backend_->instruction_set();
  run.topology = {{"ranks", communicator_.size()},
                  {"hosts", communicator_.hosts()},
                  {"threads", threads_.threads},
                  {"threads_why", threads_.why},
                  {"memory", to_json(memory_)}};
  run.environment = telemetry::chosen_environment();
  record_.emplace(options_.output + "/run.json");
  record_->start(run, state_.step);
}

// Images of bytes given to a network that expects numbers of unit size hardly train: the commonest mistake of
// a first run.
bool has_unscaled_bytes(const Job& job) {
  const data::Description& d = job.train->description();
  if (d.x_element.kind != data::ElementKind::u8 || d.x_shape.rank() < 2) return false;
  if (d.spec.find("scale=") != std::string::npos || d.spec.find("mean=") != std::string::npos) return false;
  for (const auto& layer : job.model.layers)
    for (const char* scaling : {"Rescaling", "Normalization", "BatchNormalization"})
      if (layer->class_name == scaling) return false;
  return true;
}

void Attempt::say_what_begins() const {
  if (!threads_.warning.empty()) say_warning(threads_.warning);
  if (!job_->train->description().advice.empty()) say_warning(job_->train->description().advice);
  if (has_unscaled_bytes(*job_))
    say_warning(
        "the data are bytes and nothing in the model scales them: where they go up to 255, DATA?scale=1/255 "
        "helps");
  info("{}: {} parameters, {} to train", job_->model.origin, job_->model.parameter_count(false),
       job_->model.parameter_count(true));
  info("data: {}", job_->train->description().text);
  info("loss {} ({}); optimizer {}; learning rate {}", job_->objective.loss_text, job_->objective.how,
       job_->optimizer->describe(), job_->schedule.describe());
  info("{} rank{}, {} virtual, {} thread{} each ({}); {}", communicator_.size(),
       communicator_.size() > 1 ? "s" : "", job_->virtual_ranks, threads_.threads,
       threads_.threads > 1 ? "s" : "", threads_.why, backend_->description());
  say_line(to_text(memory_));
  if (resume_) info("going on from step {} of {} ({})", state_.step, job_->total_steps, resume_->path);
}

int Attempt::loop() {
  TrainingLoop loop({*job_, communicator_, *engine_, *store_, evaluator_ ? &*evaluator_ : nullptr, *saver_,
                     clock_, files_, arena_->data(), threads_.threads},
                    state_, *loader_);
  clock_.end_start_up();
  const int code = [&] {
    try {
      return loop.run();
    } catch (const EndTogether& end) {
      close_record(end.code(), loop);
      throw;
    }
  }();
  agree(communicator_, [&] {
    if (!is_root_) return;
    if (code == kExitDone) write_model();
  });
  close_record(code, loop);
  write_report(code, loop);
  if (code == kExitStoppedWithCheckpoint)
    info("stopped after step {} of {} with a checkpoint in {}: run the same command again to go on",
         loop.state().step, job_->total_steps, options_.output);
  return code;
}

void Attempt::write_model() {
  const StepClock::Scope in(clock_, Phase::checkpoint_stall);
  store_->store_into(job_->model);
  keras::save_model_h5(job_->model, options_.output + "/model.h5");
  info("the trained model is {}/model.h5", options_.output);
}

const char* outcome_of(int code) {
  return code == kExitDone ? "done" : code == kExitStoppedWithCheckpoint ? "stopped" : "failed";
}

void Attempt::close_record(int code, const TrainingLoop& loop) {
  if (!record_) return;
  nlohmann::ordered_json figures = {{"steps", loop.state().step}};
  if (loop.last_validation()) {
    figures["validation_loss"] = loop.last_validation()->loss;
    for (const auto& [name, value] : loop.last_validation()->metrics) figures["validation_" + name] = value;
  }
  record_->finish(outcome_of(code), code, figures);
}

std::uint64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

void Attempt::write_report(int code, const TrainingLoop& loop) {
  const comm::SumCounters counters = communicator_.counters();
  clock_.add_hidden_all_reduce(std::max<std::int64_t>(0, counters.busy - counters.exposed));
  struct Share {
    telemetry::PhaseTimes times;
    std::int64_t bytes_sent;
    std::uint64_t peak;
  };
  const auto shares =
      communicator_.all_gather_record(Share{clock_.read(), counters.bytes_sent, peak_memory()});
  if (!is_root_) return;
  telemetry::RunFigures figures;
  for (std::size_t rank = 0; rank < shares.size(); ++rank) {
    figures.ranks.push_back({shares[rank].times, communicator_.hosts()[rank]});
    figures.bytes_sent += static_cast<std::uint64_t>(shares[rank].bytes_sent);
    figures.peak_memory_bytes = std::max(figures.peak_memory_bytes, shares[rank].peak);
  }
  figures.steps = loop.state().step - state_.step;
  figures.samples = loop.samples_done();
  figures.batch_size = options_.batch_size;
  figures.virtual_ranks = job_->virtual_ranks;
  figures.compute_threads = threads_.threads;
  figures.input_threads = std::max(1, options_.input_threads);
  figures.cores_available = threads_.cores;
  figures.outcome = outcome_of(code);
  const std::string text = telemetry::report_text(figures);
  write_file_atomically(options_.output + "/report.txt", text);
  write_file_atomically(options_.output + "/report.json", telemetry::report_json(figures).dump(1) + "\n");
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) say_line(line);
}

int run_train(const Options& given) {
  const TrainOptions options = read_train_options(given);
  return run_on_ranks(options.timeout,
                      [&](comm::Communicator& communicator) { return Attempt(communicator, options).run(); });
}

}  // namespace

const Command kTrain = {"train", "--model FILE --train DATA [options]",
                        "trains a model; under mpirun or srun, on all ranks together", train_option_specs,
                        run_train};

}  // namespace stoker::trainer
