#include "trainer/memory_plan.h"

#include <algorithm>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/comm/leaf_tree.h"
#include "lib/comm/sum_plan.h"
#include "lib/optim/optimizer.h"
#include "trainer/compute_threads.h"
#include "trainer/device.h"
#include "trainer/job.h"
#include "trainer/parameter_store.h"
#include "trainer/step_engine.h"

namespace stoker::trainer {
namespace {

// Labels for an output of several numbers, numbers for the rest: what most data sets have.
keras::TargetDescription likely_target(const keras::Model& model) {
  keras::TargetDescription target;
  const Shape& output = model.output_shape();
  target.integer_labels = output.rank() == 1 && output[0] > 1;
  if (!target.integer_labels) target.shape = output;
  target.where = model.origin;
  return target;
}

std::unique_ptr<optim::Optimizer> chosen_optimizer(const keras::Model& model, const Options& options) {
  const auto file = keras::file_optimizer(model);
  if (!options.has("optimizer") && file) return optim::optimizer_from_keras(*file, model.origin).optimizer;
  const std::string text = options.has("optimizer") ? options.text("optimizer") : "adam";
  return optim::optimizer_from_options(parse_named_options(text, "--optimizer")).optimizer;
}

}  // namespace

MemoryReport plan_training_memory(const keras::Model& model, const Options& options) {
  const std::int64_t batch = options.integer("batch-size", 1, 1 << 30),
                     ranks = options.integer("ranks", 1, 1 << 20);
  const std::int64_t leaves =
      options.has("virtual-ranks") ? options.integer("virtual-ranks", 1, comm::kMaxLeaves) : ranks;
  if (ranks > leaves || leaves > batch)
    throw UserError("ranks, virtual ranks and batch do not fit", "stoker inspect",
                    "keep ranks <= virtual ranks <= batch");
  const auto asked = options.has("threads")
                         ? std::optional(static_cast<int>(options.integer("threads", 1, 4096)))
                         : std::nullopt;
  const auto backend = make_backend("auto", choose_compute_threads(asked, {}).threads);
  const keras::Objective objective = keras::resolve_objective(
      model, likely_target(model), options.maybe_text("loss"),
      options.has("metrics") ? std::optional(split(options.text("metrics"), ',')) : std::nullopt);
  const GraphMaker make_graph = [&](std::int64_t n) {
    keras::GraphOptions graph;
    graph.batch = n;
    graph.training = true;
    set_objective(objective, graph);
    return keras::build_graph(model, graph);
  };
  const graph::ParameterLayout layout = layout_of(model, make_graph(1));
  const Programs programs(*backend, layout, make_graph, batch, batch, leaves);
  const auto optimizer = chosen_optimizer(model, options);
  const ParameterStore store(*backend, model, layout, optimizer.get());
  const auto schedule = comm::local_schedule(
      static_cast<int>(leaves), comm::leaves_of_rank(0, static_cast<int>(ranks), static_cast<int>(leaves)));
  MemoryReport memory = memory_of(store, 0, static_cast<int>(ranks));
  memory.arena = programs.arena_bytes();
  memory.gradient_slots = schedule.slots;
  memory.gradients = schedule.slots * StepEngine::slot_floats(layout, programs.graph()) *
                     static_cast<std::int64_t>(sizeof(float));
  if (ranks > 1)
    memory.communication =
        comm::SumPlan(0, static_cast<int>(ranks), static_cast<int>(leaves), comm::SumMode::tree)
            .scratch_bytes();
  return memory;
}

}  // namespace stoker::trainer
