#include "trainer/inference.h"

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "trainer/checkpoint_model.h"
#include "trainer/compute_threads.h"
#include "trainer/device.h"
#include "trainer/job.h"

namespace stoker::trainer {
namespace {

keras::Model load_any_model(const std::string& path, const Shape& data_shape) {
  return is_directory(path) ? load_run_model(path) : keras::load_model(path, 0, data_shape);
}

// Every weight is a range of its own; nothing trains.
graph::ParameterLayout layout_without_gradients(const keras::Model& model) {
  graph::ParameterLayout layout;
  for (std::size_t k = 0; k < model.weights.size(); ++k) {
    const std::int64_t size = model.weights[k].spec.shape.elements();
    layout.ranges.push_back({layout.total_size, size, false});
    layout.order.push_back(static_cast<std::int64_t>(k));
    layout.total_size += size;
  }
  return layout;
}

void resolve_targets(InferenceSetup& setup, const Options& options) {
  const data::Description& d = setup.data->description();
  setup.objective = keras::resolve_objective(
      *setup.model, describe_targets(d), options.maybe_text("loss"),
      options.has("metrics") ? std::optional(split(options.text("metrics"), ',')) : std::nullopt);
  check_targets(setup.objective, *setup.data);
}

}  // namespace

GraphMaker InferenceSetup::graph_maker(bool with_loss) const {
  return [model = model, objective = objective, with_loss](std::int64_t n) {
    keras::GraphOptions graph;
    graph.batch = n;
    graph.bind_output = !with_loss;
    if (with_loss) set_objective(objective, graph);
    return keras::build_graph(*model, graph);
  };
}

Evaluator InferenceSetup::make_evaluator(comm::Communicator& communicator, std::int64_t batch) const {
  EvaluatorOptions evaluation;
  evaluation.batch = std::max<std::int64_t>(batch, communicator.size());
  evaluation.virtual_ranks = communicator.size();
  evaluation.targets = objective.label_targets ? data::TargetForm::labels : data::TargetForm::values;
  return Evaluator(*backend, communicator, layout, graph_maker(true), data, evaluation);
}

InferenceSetup prepare_inference(const comm::Communicator& communicator, const Options& options,
                                 bool with_targets) {
  static constexpr const char* kDevices[] = {"auto", "cpu", "cuda"};
  InferenceSetup setup;
  data::OpenOptions open;
  open.memory_bytes = data_memory(communicator);
  open.targets = with_targets;
  setup.data = data::open_source(options.required("data"), open);
  keras::Model model = load_any_model(options.required("model"), setup.data->description().x_shape);
  if (options.has("weights")) keras::load_weights(model, options.text("weights"));
  if (model.weights_are_drawn && !model.weights.empty())
    throw UserError("the model's file has no weights", model.origin,
                    "give a trained model, or --weights FILE");
  if (numbers_labels_otherwise(model, setup.data->description())) {
    open.class_names = model.trained_with.class_names;
    setup.data = data::open_source(options.required("data"), open);
  }
  check_input(model, *setup.data);
  setup.model = std::make_shared<const keras::Model>(std::move(model));
  if (with_targets) resolve_targets(setup, options);
  const auto asked = options.has("threads")
                         ? std::optional(static_cast<int>(options.integer("threads", 1, 4096)))
                         : std::nullopt;
  const ComputeThreads threads = choose_compute_threads(asked, communicator.local_ranks());
  setup.backend = make_backend(options.choice("device", kDevices), threads.threads);
  setup.layout = layout_without_gradients(*setup.model);
  setup.store = std::make_unique<ParameterStore>(*setup.backend, *setup.model, setup.layout, nullptr);
  return setup;
}

}  // namespace stoker::trainer
