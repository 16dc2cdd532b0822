#include <algorithm>

#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;

json classifier() {
  json hidden = dense_config("hidden", {}, 5), out = dense_config("out", {}, 3);
  hidden["config"]["trainable"] = false;
  out["config"]["activation"] = "softmax";
  const json norm = {{"class_name", "BatchNormalization"}, {"config", {{"name", "norm"}}}};
  return sequential({input_config("x", {nullptr, 4}), hidden, norm, out});
}

GraphOptions training_options() {
  GraphOptions options;
  options.batch = 6;
  options.training = true;
  options.loss = graph::LossAttributes{graph::LossKind::sparse_categorical_crossentropy};
  options.metrics = {{"accuracy", {graph::MetricKind::sparse_categorical_accuracy}}};
  return options;
}

std::size_t count(const graph::Graph& graph, graph::OpKind kind) {
  return static_cast<std::size_t>(std::count_if(graph.ops.begin(), graph.ops.end(),
                                                [&](const graph::Op& op) { return op.kind == kind; }));
}

bool has_statistic(const graph::Graph& graph, const std::string& name) {
  return std::any_of(graph.statistics.begin(), graph.statistics.end(),
                     [&](const graph::Statistic& statistic) { return statistic.name == name; });
}

TEST(BuildGraph, TrainingHasLossMetricsAndGradientsOfWhatTrains) {
  const Model model = model_from_json(classifier(), "m", 0);
  const graph::Graph graph = build_graph(model, training_options());
  EXPECT_EQ(graph.batch, 6);
  EXPECT_TRUE(has_statistic(graph, "loss"));
  EXPECT_TRUE(has_statistic(graph, "metric/accuracy"));
  EXPECT_EQ(graph.moving_statistics.size(), 2u);
  std::vector<std::int64_t> ready = graph.ready_order;
  std::sort(ready.begin(), ready.end());
  // hidden/kernel, hidden/bias (frozen), norm/gamma, beta, moving mean and variance, out/kernel, out/bias
  EXPECT_EQ(ready, (std::vector<std::int64_t>{2, 3, 6, 7}));
  for (const graph::Value& value : graph.values)
    if (value.role == graph::Role::parameter) {
      EXPECT_EQ(value.shape.elements(),
                model.weights[static_cast<std::size_t>(value.index)].spec.shape.elements());
    }
}

TEST(BuildGraph, InferenceBindsTheOutputAndHasNoGradients) {
  const Model model = model_from_json(classifier(), "m", 0);
  GraphOptions options;
  options.batch = 2;
  options.bind_output = true;
  const graph::Graph graph = build_graph(model, options);
  EXPECT_EQ(graph.ops.size(), graph.forward_ops);
  EXPECT_EQ(count(graph, graph::OpKind::batch_norm), 0u);
  EXPECT_EQ(count(graph, graph::OpKind::batch_norm_inference), 1u);
  EXPECT_EQ(std::count_if(graph.values.begin(), graph.values.end(),
                          [](const graph::Value& value) { return value.role == graph::Role::output; }),
            1);
}

TEST(BuildGraph, ACallHeldToInferenceUsesTheMovingStatisticsInTrainingToo) {
  json norm = {{"class_name", "BatchNormalization"}, {"name", "n"}, {"config", {{"name", "n"}}}};
  norm["inbound_nodes"] = json::parse(R"([[["x", 0, 0, {"training": false}]]])");
  const Model model =
      model_from_json(functional("m", {input_config("x", {nullptr, 4}), norm, dense_config("d", {"n"}, 3)},
                                 {{"x", 0, 0}}, {{"d", 0, 0}}),
                      "m", 0);
  const graph::Graph graph = build_graph(model, training_options());
  EXPECT_EQ(count(graph, graph::OpKind::batch_norm), 0u);
  EXPECT_TRUE(graph.moving_statistics.empty());
}

}  // namespace
}  // namespace stoker::keras
