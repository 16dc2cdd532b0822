#include "trainer/train_options.h"

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace stoker::trainer {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 40;

constexpr OptionSpec kSpecs[] = {
    {"model", "FILE", nullptr, "the model: .json, .h5 or .keras"},
    {"train", "DATA", nullptr, "the training data: a path, or kind:path[,path][?key=value&...]"},
    {"weights", "FILE", nullptr, "start from these weights"},
    {"validation", "DATA", nullptr, "evaluated after every epoch"},
    {"validation-split", "F", "0", "this fraction at the end of the training data validates instead"},
    {"loss", "NAME[:k=v,...]", nullptr,
     "Keras' names; else the file's, else chosen from the output layer and the labels"},
    {"metrics", "NAME,...", nullptr, "Keras' names; else the file's"},
    {"optimizer", "NAME[:k=v,...]", nullptr,
     "sgd, adam, adamw, rmsprop with Keras' arguments; else the file's, else adam"},
    {"learning-rate", "X", nullptr, "learning rate, in place of the optimizer's"},
    {"schedule", "NAME[:k=v,...]", nullptr, "constant, step, cosine, exponential, each with warmup_steps=W"},
    {"clip-norm", "X", nullptr, "clip by the norm over all gradients"},
    {"batch-size", "B", "32", "global: over all ranks"},
    {"virtual-ranks", "V", nullptr, "leaves of a step; else the number of ranks at the first start"},
    {"epochs", "E", nullptr, "stop after so many epochs in all; 1 where --steps is not given either"},
    {"steps", "S", nullptr, "stop after so many steps in all"},
    {"shuffle", "on|off", "on", "a new order every epoch"},
    {"seed", "K", "0", "of the weights, the order, dropout and augmentation"},
    {"augment", "NAME[=N],...", nullptr, "flip, vflip, crop=4: drawn by seed, epoch and sample"},
    {"output", "DIR", "stoker-run", "where results go"},
    {"resume", "auto|never|DIR", "auto",
     "go on from the newest good checkpoint; never: an error if there is one"},
    {"keep", "N", "3", "checkpoints kept; the best is kept besides"},
    {"checkpoint-every", "INTERVAL", "1epoch", "500steps, 1epoch or 10m (s, m, h); and at the end"},
    {"log-every", "K", "10", "steps between metric lines"},
    {"threads", "T", nullptr,
     "compute threads a rank; else from the affinity mask, shared among the ranks that share it"},
    {"input-threads", "T", "0", "threads that read and augment; 0: chosen"},
    {"device", "auto|cpu|cuda", "auto", "where to compute"},
    {"all-reduce", "tree|library", "tree", "the exact tree, or the MPI library's own (bits may differ)"},
    {"freeze", "GLOB,...", nullptr, "layers that do not train"},
    {"timeout", "SECONDS", "60", "a rank that is silent for so long ends the job, by name"},
    {"config", "FILE", nullptr, "the same options as `key = value` lines; the command line wins"},
    {"help", nullptr, nullptr, "this text"},
};

CheckpointInterval read_interval(const std::string& text) {
  std::size_t digits = 0;
  while (digits < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[digits])) || text[digits] == '.'))
    ++digits;
  const std::optional<double> number = parse_double(std::string_view(text).substr(0, digits));
  const std::string unit = text.substr(digits);
  const auto whole = [&] { return static_cast<std::int64_t>(*number); };
  CheckpointInterval interval;
  if (number && *number > 0 && *number < 1e12) {
    const bool is_whole = static_cast<double>(whole()) == *number;
    if (is_whole && (unit == "steps" || unit == "step")) return interval.steps = whole(), interval;
    if (is_whole && (unit == "epochs" || unit == "epoch")) return interval.epochs = whole(), interval;
    const double scale = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (scale > 0) return interval.seconds = *number * scale, interval;
  }
  throw UserError("not an interval", "--checkpoint-every " + text, "write 500steps, 1epoch, 30s, 10m or 2h");
}

// Whole numbers that may be absent.
std::optional<std::int64_t> maybe_integer(const Options& options, const char* name, std::int64_t low) {
  if (!options.has(name)) return std::nullopt;
  return options.integer(name, low, kMost);
}

std::optional<double> maybe_real(const Options& options, const char* name, double low, double high) {
  if (!options.has(name)) return std::nullopt;
  return options.real(name, low, high);
}

void read_resume(const Options& options, TrainOptions& out) {
  const std::string resume = options.text("resume");
  out.resume = resume == "auto" ? Resume::automatic : resume == "never" ? Resume::never : Resume::directory;
  if (out.resume == Resume::directory) out.resume_directory = resume;
}

}  // namespace

std::span<const OptionSpec> train_option_specs() { return kSpecs; }

TrainOptions read_train_options(const Options& options) {
  options.no_positional();
  static constexpr const char* kDevices[] = {"auto", "cpu", "cuda"};
  static constexpr const char* kAllReduce[] = {"tree", "library"};
  TrainOptions out;
  out.model = options.required("model");
  out.train_data = options.required("train");
  out.weights = options.maybe_text("weights");
  out.validation = options.maybe_text("validation");
  out.validation_split = options.real("validation-split", 0, 0.99);
  out.loss = options.maybe_text("loss");
  out.metrics = split(options.text("metrics"), ',');
  out.metrics_given = options.has("metrics");
  out.optimizer = options.maybe_text("optimizer");
  out.schedule = options.maybe_text("schedule");
  out.learning_rate = maybe_real(options, "learning-rate", 0, 1e6);
  out.clip_norm = maybe_real(options, "clip-norm", 1e-30, 1e30);
  out.batch_size = options.integer("batch-size", 1, kMost);
  out.virtual_ranks = maybe_integer(options, "virtual-ranks", 1);
  out.epochs = maybe_integer(options, "epochs", 1);
  out.steps = maybe_integer(options, "steps", 1);
  if (!out.epochs && !out.steps) out.epochs = 1;
  out.shuffle = options.on_off("shuffle");
  out.seed = static_cast<std::uint64_t>(options.integer("seed", 0, INT64_MAX));
  out.augment = options.text("augment");
  out.output = options.required("output");
  read_resume(options, out);
  out.keep = options.integer("keep", 1, kMost);
  out.checkpoint_every = read_interval(options.text("checkpoint-every"));
  out.log_every = options.integer("log-every", 1, kMost);
  if (options.has("threads")) out.threads = static_cast<int>(options.integer("threads", 1, 4096));
  out.input_threads = static_cast<int>(options.integer("input-threads", 0, 256));
  out.device = options.choice("device", kDevices);
  out.library_all_reduce = options.choice("all-reduce", kAllReduce) == "library";
  out.freeze = split(options.text("freeze"), ',');
  out.timeout = options.real("timeout", 1, 1e9);
  if (out.validation && out.validation_split > 0)
    throw UserError("--validation and --validation-split are both given", "stoker train", "give one of them");
  for (const OptionSpec& spec : kSpecs)
    if (spec.argument != nullptr && !options.text(spec.name).empty())
      out.as_given[spec.name] = options.text(spec.name);
  return out;
}

}  // namespace stoker::trainer
