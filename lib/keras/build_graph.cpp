#include "lib/keras/model.h"

namespace stoker::keras {

graph::Graph build_graph(const Model& model, const GraphOptions& options) {
  graph::GraphBuilder builder(options.batch);
  std::vector<graph::ValueId> outputs;  // by call
  std::vector<std::uint32_t> calls_so_far(model.layers.size(), 0);
  for (const Call& call : model.calls) {
    std::vector<graph::ValueId> inputs;
    for (const std::size_t input : call.inputs) inputs.push_back(outputs[input]);
    ExpandContext context;
    context.training = options.training && !call.inference;
    context.layer = static_cast<std::uint32_t>(call.layer);
    context.call = calls_so_far[call.layer]++;
    context.weights = model.layer_weights[call.layer];
    context.path = model.layer_paths[call.layer];
    outputs.push_back(model.layers[call.layer]->expand(builder, inputs, context));
  }
  const graph::ValueId prediction = outputs[model.output_call];
  builder.set_output(prediction, options.bind_output);

  if (options.loss || !options.metrics.empty()) {
    const graph::ValueId target =
        builder.target(options.target_shape.with_batch(options.batch), options.target_dtype);
    if (options.loss) builder.add_loss(*options.loss, prediction, target, options.training);
    for (const auto& [name, attributes] : options.metrics)
      builder.add_metric(attributes, prediction, target, name);
  }

  graph::Graph graph = builder.finish();
  if (options.training) {
    std::vector<bool> trainable;
    for (const Weight& weight : model.weights) trainable.push_back(weight.trainable);
    graph::differentiate(graph, trainable);
  }
  graph::run_passes(graph);
  return graph;
}

}  // namespace stoker::keras
