// Shapes, weights and ops of layers: what fits and what is refused, and what training changes.
#include <algorithm>

#include "lib/graph/graph.h"
#include "tests/unit/keras_layers/layer_testing.h"

namespace stoker::keras {
namespace {

using graph::OpKind;
using nlohmann::json;

std::string build_error(const std::string& class_name, const json& config, const std::vector<Shape>& inputs) {
  const auto layer = make(class_name, config);
  return error_of([&] { build(*layer, inputs); });
}

// The graph of one call on inputs of these shapes, a batch of 2.
graph::Graph graph_of(Layer& layer, const std::vector<Shape>& shapes, bool training) {
  build(layer, shapes);
  std::vector<std::int64_t> weights;
  for (std::size_t k = 0; k < layer.weights().size(); ++k) weights.push_back(static_cast<std::int64_t>(k));
  graph::GraphBuilder builder(2);
  std::vector<graph::ValueId> inputs;
  for (const Shape& shape : shapes) {
    const auto index = static_cast<std::int64_t>(weights.size() + inputs.size());
    inputs.push_back(builder.parameter(index, shape.with_batch(2), "x"));
  }
  const graph::ValueId y = layer.expand(builder, inputs, {training, 5, 6, weights, "l"});
  builder.set_output(y, false);
  return builder.finish();
}

std::size_t count(const graph::Graph& graph, OpKind kind) {
  return static_cast<std::size_t>(std::count_if(graph.ops.begin(), graph.ops.end(),
                                                [&](const graph::Op& op) { return op.kind == kind; }));
}

TEST(LayerBuild, InputsThatDoNotFitAreRefusedByLayer) {
  const json conv = {{"filters", 4}, {"kernel_size", 3}};
  const std::vector<std::string> messages = {
      build_error("Conv2D", conv, {{28, 28}}),
      build_error("Conv2D", conv, {{2, 8, 1}}),
      build_error("Conv2D", {{"filters", 4}, {"kernel_size", 3}, {"groups", 2}}, {{8, 8, 3}}),
      build_error("MaxPooling2D", {{"pool_size", 2}}, {{8, 1, 1}}),
      build_error("GlobalAveragePooling2D", json::object(), {{8}}),
      build_error("ZeroPadding2D", json::object(), {{8}}),
      build_error("Cropping2D", {{"cropping", 4}}, {{8, 9, 1}}),
      build_error("Reshape", {{"target_shape", {5, -1}}}, {{12}}),
      build_error("Reshape", {{"target_shape", {5}}}, {{12}}),
      build_error("Add", json::object(), {{3}}),
      build_error("Add", json::object(), {{3}, {4}}),
      build_error("Multiply", json::object(), {{3}, {3, 1}}),
      build_error("Subtract", json::object(), {{3}, {3}, {3}}),
      build_error("Concatenate", {{"axis", 2}}, {{3}, {3}}),
      build_error("Concatenate", json::object(), {{2, 3}, {3, 3}}),
      build_error("BatchNormalization", {{"axis", 1}}, {{8, 8, 3}}),
      build_error("BatchNormalization", json::object(), {Shape{}}),
      build_error("Softmax", {{"axis", 1}}, {{8, 3}}),
      build_error("Dense", {{"units", 2}}, {Shape{}}),
      build_error("Dense", {{"units", 2147483647}}, {{2147483647}}),
      build_error("Dense", {{"units", 2}}, {{3}, {3}}),
      build_error("Rescaling", {{"scale", {1, 2}}}, {{8, 8, 3}}),
      build_error("Normalization", {{"mean", {1, 2}}, {"variance", {1, 2}}}, {{8, 8, 3}}),
      build_error("Normalization", {{"axis", 1}}, {{8, 8, 3}}),
  };
  for (std::size_t i = 0; i < messages.size(); ++i) {
    EXPECT_TRUE(contains(messages[i], "m.json: layer l (")) << "case " << i << ": " << messages[i];
  }
}

TEST(LayerBuild, ASharedLayerKeepsItsWeights) {
  auto layer = make("Dense", {{"units", 2}});
  build(*layer, {{3}});
  build(*layer, {{7, 3}});
  EXPECT_EQ(layer->weights().size(), 2u);
  EXPECT_TRUE(contains(error_of([&] { build(*layer, {{4}}); }), "shared layer"));
}

TEST(LayerBuild, TheLastAxisMayBeNamedByItsNumber) {
  EXPECT_EQ(build_error("BatchNormalization", {{"axis", {3}}}, {{8, 8, 3}}), "");
  EXPECT_EQ(build_error("BatchNormalization", {{"axis", 1}}, {{8}}), "");
  EXPECT_EQ(build_error("Softmax", {{"axis", 2}}, {{8, 3}}), "");
  EXPECT_EQ(build_error("Normalization", {{"axis", {3}}}, {{8, 8, 3}}), "");
}

TEST(LayerBuild, DropoutIsThereInTrainingOnly) {
  auto layer = make("Dropout", {{"rate", 0.25}});
  EXPECT_EQ(count(graph_of(*layer, {{4}}, false), OpKind::dropout), 0u);
  const graph::Graph training = graph_of(*layer, {{4}}, true);
  ASSERT_EQ(count(training, OpKind::dropout), 1u);
  const auto& attributes = std::get<graph::DropoutAttributes>(training.ops[0].attributes);
  EXPECT_EQ(attributes.rate, 0.25f);
  EXPECT_EQ(attributes.layer, 5u);
  EXPECT_EQ(attributes.call, 6u);
  EXPECT_EQ(count(graph_of(*make("Dropout", {{"rate", 0}}), {{4}}, true), OpKind::dropout), 0u);
}

TEST(LayerBuild, BatchNormalizationUsesTheBatchOnlyWhereItTrains) {
  auto layer = make("BatchNormalization", {{"momentum", 0.75}});
  EXPECT_EQ(count(graph_of(*layer, {{4, 4, 3}}, false), OpKind::batch_norm_inference), 1u);
  const graph::Graph training = graph_of(*layer, {{4, 4, 3}}, true);
  EXPECT_EQ(count(training, OpKind::batch_norm), 1u);
  ASSERT_EQ(training.moving_statistics.size(), 2u);
  EXPECT_EQ(training.moving_statistics[0].parameter, 2);  // after gamma and beta
  EXPECT_EQ(training.moving_statistics[1].parameter, 3);
  EXPECT_EQ(training.moving_statistics[1].momentum, 0.75f);
  EXPECT_FALSE(layer->weights()[2].trainable);
  EXPECT_TRUE(layer->weights()[0].trainable);

  layer->trainable = false;
  const graph::Graph frozen = graph_of(*layer, {{4, 4, 3}}, true);
  EXPECT_EQ(count(frozen, OpKind::batch_norm), 0u);
  EXPECT_TRUE(frozen.moving_statistics.empty());
}

TEST(LayerBuild, MaximaKeepTheirPlacesForTheGradient) {
  auto layer = make("MaxPooling2D", {{"pool_size", 2}});
  EXPECT_EQ(graph_of(*layer, {{4, 4, 3}}, true).ops[0].outputs.size(), 2u);
  EXPECT_EQ(graph_of(*layer, {{4, 4, 3}}, false).ops[0].outputs.size(), 1u);
  EXPECT_TRUE(contains(make_error("MaxPooling2D", {{"pool_size", 16}}), "pool_size=[16,16]"));
  EXPECT_EQ(make_error("AveragePooling2D", {{"pool_size", 16}}), "");
}

TEST(LayerBuild, NormalizationTakesTheWeightsOfAnAdaptedLayer) {
  auto layer = make("Normalization");
  const std::vector<std::vector<float>> weights = {{0.5f, 1.5f}, {4.0f, 0.25f}, {100.0f}};
  EXPECT_TRUE(layer->adopt_file_weights(weights));
  build(*layer, {{2}});
  EXPECT_TRUE(layer->weights().empty());
  EXPECT_EQ(layer->config()["mean"], json::parse("[0.5, 1.5]"));
  EXPECT_EQ(layer->config()["variance"], json::parse("[4.0, 0.25]"));
  EXPECT_TRUE(layer->adopt_file_weights({}));
  const std::vector<std::vector<float>> wrong = {{1.0f}, {1.0f, 2.0f}, {1.0f}};
  EXPECT_NE(error_of([&] { layer->adopt_file_weights(wrong); }), "");
  EXPECT_FALSE(make("Flatten")->adopt_file_weights(weights));

  // Never adapted: 0 and 1, as in Keras.
  auto fresh = make("Normalization");
  build(*fresh, {{2}});
  EXPECT_EQ(fresh->config()["mean"], json::parse("[0.0, 0.0]"));
  EXPECT_EQ(fresh->config()["variance"], json::parse("[1.0, 1.0]"));
}

TEST(LayerBuild, ConvolutionsHaveKerasKernels) {
  const auto shapes = [](const std::string& class_name, const json& config) {
    auto layer = make(class_name, config);
    build(*layer, {{8, 8, 6}});
    std::vector<Shape> result;
    for (const WeightSpec& weight : layer->weights()) result.push_back(weight.shape);
    return result;
  };
  EXPECT_EQ(shapes("Conv2D", {{"filters", 4}, {"kernel_size", {3, 2}}, {"groups", 2}}),
            (std::vector<Shape>{{3, 2, 3, 4}, {4}}));
  EXPECT_EQ(shapes("DepthwiseConv2D", {{"kernel_size", 3}, {"depth_multiplier", 2}}),
            (std::vector<Shape>{{3, 3, 6, 2}, {12}}));
  EXPECT_EQ(shapes("SeparableConv2D", {{"filters", 5}, {"kernel_size", 3}, {"depth_multiplier", 2}}),
            (std::vector<Shape>{{3, 3, 6, 2}, {1, 1, 12, 5}, {5}}));
}

}  // namespace
}  // namespace stoker::keras
