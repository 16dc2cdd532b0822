// `stoker evaluate`: loss and metrics of a model over a data set, on one rank or many.
#include <cmath>
#include <cstdio>
#include <numeric>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "trainer/agree.h"
#include "trainer/command.h"
#include "trainer/inference.h"

namespace stoker::trainer {
namespace {

constexpr OptionSpec kSpecs[] = {
    {"model", "FILE", nullptr, "the model: .h5 or .keras, or a run's directory"},
    {"data", "DATA", nullptr, "the data: a path, or kind:path[,path][?key=value&...]"},
    {"weights", "FILE", nullptr, "take the weights from here"},
    {"loss", "NAME[:k=v,...]", nullptr, "Keras' names; else the file's, else chosen"},
    {"metrics", "NAME,...", nullptr, "Keras' names; else the file's"},
    {"batch-size", "B", "64", "over all ranks"},
    {"threads", "T", nullptr, "compute threads a rank"},
    {"device", "auto|cpu|cuda", "auto", "where to compute"},
    {"json", nullptr, nullptr, "print JSON"},
    {"help", nullptr, nullptr, "this text"},
};

std::span<const OptionSpec> specs() { return kSpecs; }

void print(const Evaluation& result, bool json) {
  nlohmann::ordered_json out = {{"loss", result.loss}};
  for (const auto& [name, value] : result.metrics) out[name] = value;
  out["samples"] = result.samples;
  if (json) {
    std::printf("%s\n", out.dump().c_str());
    return;
  }
  for (const auto& [name, value] : out.items()) std::printf("%s %s\n", name.c_str(), value.dump().c_str());
}

int evaluate(comm::Communicator& communicator, const Options& options) {
  InferenceSetup setup;
  std::optional<Evaluator> evaluator;
  std::unique_ptr<backend::Memory> arena;
  agree(communicator, [&] {
    setup = prepare_inference(communicator, options, true);
    evaluator.emplace(setup.make_evaluator(communicator, options.integer("batch-size", 1, 1 << 30)));
    arena = setup.backend->allocate(static_cast<std::size_t>(evaluator->arena_bytes()));
  });
  info("loss {} ({})", setup.objective.loss_text, setup.objective.how);
  std::optional<Evaluation> result =
      evaluator->run(setup.store->parameters(), arena->data(), [] { return false; });
  result->loss += optim::regularization_loss(setup.store->ranges(), setup.store->parameters());
  if (!std::isfinite(result->loss))
    say_warning("the loss is not finite: look at the data, or at the weights");
  if (communicator.rank() == 0) print(*result, options.flag("json"));
  return kExitDone;
}

int run_evaluate(const Options& options) {
  options.no_positional();
  options.required("model");
  options.required("data");
  return run_on_ranks(kStartTimeout,
                      [&](comm::Communicator& communicator) { return evaluate(communicator, options); });
}

}  // namespace

const Command kEvaluate = {"evaluate", "--model FILE --data DATA [--loss L] [--metrics M,...] [--json]",
                           "loss and metrics of a model over a data set", specs, run_evaluate};

}  // namespace stoker::trainer
