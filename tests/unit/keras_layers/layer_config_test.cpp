// How configs are read and written: both dialects, defaults, refusals.
#include <array>

#include "lib/keras/layers/config_reader.h"
#include "lib/keras/layers/layer_table.h"
#include "tests/unit/keras_layers/layer_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;

TEST(LayerConfig, DenseReadsBothDialects) {
  const json keras2 = {
      {"name", "d"},
      {"trainable", false},
      {"dtype", "float32"},
      {"batch_input_shape", {nullptr, 4}},
      {"units", 3},
      {"activation", "relu"},
      {"use_bias", true},
      {"kernel_initializer", {{"class_name", "HeNormal"}, {"config", {{"seed", nullptr}}}}},
      {"kernel_regularizer", {{"class_name", "L2"}, {"config", {{"l2", 0.001}}}}},
      {"kernel_constraint", {{"class_name", "MaxNorm"}, {"config", {{"max_value", 3}, {"axis", 0}}}}},
      {"activity_regularizer", nullptr}};
  const auto layer = make("Dense", keras2, 2);
  EXPECT_EQ(layer->name, "d");
  EXPECT_FALSE(layer->trainable);
  EXPECT_EQ(build(*layer, {{4}}), Shape{3});
  ASSERT_EQ(layer->weights().size(), 2u);
  const WeightSpec& kernel = layer->weights()[0];
  EXPECT_EQ(kernel.name, "kernel");
  EXPECT_EQ(kernel.shape, (Shape{4, 3}));
  EXPECT_EQ(kernel.initializer.name, "HeNormal");
  EXPECT_FLOAT_EQ(kernel.regularizer.l2, 0.001f);
  EXPECT_EQ(kernel.regularizer.l1, 0.0f);
  EXPECT_EQ(kernel.constraint.name, "MaxNorm");
  EXPECT_EQ(kernel.constraint.max_value, 3.0f);
  EXPECT_EQ(layer->weights()[1].initializer.name, "Zeros");

  json keras3 = keras2;
  keras3.erase("batch_input_shape");
  keras3.erase("activity_regularizer");
  keras3["dtype"] = {{"module", "keras"},
                     {"class_name", "DTypePolicy"},
                     {"config", {{"name", "float32"}}},
                     {"registered_name", nullptr},
                     {"shared_object_id", 7}};
  keras3["kernel_initializer"] = {
      {"module", "keras.initializers"},
      {"class_name", "HeNormal"},
      {"config", {{"seed", nullptr}, {"input_axes", nullptr}, {"output_axes", nullptr}}},
      {"registered_name", nullptr}};
  keras3["quantization_config"] = nullptr;
  EXPECT_EQ(make("Dense", keras3)->config(), layer->config());
}

TEST(LayerConfig, WrittenInTheDialectOfBoth) {
  const json config =
      make("Dense", {{"units", 3}, {"kernel_regularizer", "l2"}, {"kernel_constraint", "non_neg"}})->config();
  EXPECT_EQ(config, json::parse(R"({
    "name": "l", "trainable": true, "dtype": "float32", "units": 3, "use_bias": true, "activation": "linear",
    "kernel_initializer": {"class_name": "GlorotUniform", "config": {"seed": null}},
    "kernel_regularizer": {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.01}},
    "kernel_constraint": {"class_name": "NonNeg", "config": {}},
    "bias_initializer": {"class_name": "Zeros", "config": {}},
    "bias_regularizer": null, "bias_constraint": null})"));
}

TEST(LayerConfig, InputKeepsItsShape) {
  auto layer =
      make("InputLayer", {{"batch_shape", {nullptr, 8, 8, 3}}, {"dtype", "float32"}, {"optional", false}});
  EXPECT_EQ(build(*layer, {}), (Shape{8, 8, 3}));
  EXPECT_EQ(layer->config()["batch_input_shape"], json::parse("[null, 8, 8, 3]"));
  expect_round_trip(*layer);
  EXPECT_TRUE(
      contains(make_error("InputLayer", {{"batch_shape", {nullptr, nullptr}}}), "batch_shape=[null,null]"));
}

TEST(LayerConfig, UnknownKeysAreRefusedByLayerKeyAndFile) {
  EXPECT_EQ(make_error("Dense", {{"units", 2}, {"sparsity", 0.5}}),
            "unsupported value sparsity=0.5: m.json: layer l (Dense): Stoker does not honour this option");
}

TEST(LayerConfig, ValuesThatAreNotHonouredAreRefused) {
  const std::vector<std::pair<std::string, json>> cases = {
      {"Flatten", {{"data_format", "channels_first"}}},
      {"Flatten", {{"dtype", "float16"}}},
      {"Flatten", {{"dtype", "mixed_bfloat16"}}},
      {"Flatten", {{"dtype", {{"class_name", "Policy"}, {"config", {{"name", "mixed_float16"}}}}}}},
      {"Flatten", {{"trainable", "yes"}}},
      {"Dense", {{"units", 0}}},
      {"Dense", {{"units", 2.5}}},
      {"Dense", {{"units", 2}, {"use_bias", 1}}},
      {"Dense", {{"units", 2}, {"lora_rank", 4}}},
      {"Dense", {{"units", 2}, {"quantization_config", {{"class_name", "Int8"}}}}},
      {"Dense", {{"units", 2}, {"activity_regularizer", "l2"}}},
      {"Dense", {{"units", 2}, {"activation", "log_softmax"}}},
      {"Dense", {{"units", 2}, {"activation", {{"class_name", "PReLU"}, {"config", json::object()}}}}},
      {"Dense", {{"units", 2}, {"kernel_regularizer", {{"class_name", "OrthogonalRegularizer"}}}}},
      {"Dense", {{"units", 2}, {"kernel_regularizer", {{"class_name", "L2"}, {"config", {{"l2", -1}}}}}}},
      {"Dense", {{"units", 2}, {"kernel_constraint", "unit_norm"}}},
      {"Softmax", {{"axis", "last"}}},
      {"ReLU", {{"max_value", -1}}},
      {"Reshape", {{"target_shape", {-1, -1}}}},
      {"Reshape", {{"target_shape", 3}}},
      {"Normalization", {{"invert", true}}},
      {"Normalization", {{"axis", {1, 2}}}},
      {"Normalization", {{"mean", 1}, {"variance", -1}}},
      {"Rescaling", {{"scale", "x"}}},
      {"Concatenate", {{"axis", 0}}},
  };
  for (const auto& [class_name, config] : cases) {
    const std::string message = make_error(class_name, config);
    EXPECT_TRUE(contains(message, "unsupported value ")) << class_name << config << message;
    EXPECT_TRUE(contains(message, "m.json: layer l (" + class_name + ")")) << message;
  }
  EXPECT_TRUE(contains(make_error("Dense", json::object()), "no value for units: m.json: layer l (Dense)"));
}

TEST(LayerConfig, UnknownAndForeignClassesAreRefused) {
  EXPECT_TRUE(
      contains(make_error("Attention", {}), "unknown layer: m.json: layer l (Attention): the layers known"));
  EXPECT_TRUE(contains(make_error("Lambda", {}), "unsupported layer: m.json: layer l (Lambda)"));
  EXPECT_TRUE(contains(make_error("TFOpLambda", {}), "unsupported layer"));
  const auto foreign = [](const json& keys) {
    json layer = {{"class_name", "Dense"}, {"config", {{"name", "l"}, {"units", 2}}}};
    layer.update(keys);
    return error_of([&] { make_layer(layer, {"m.json", 3}); });
  };
  EXPECT_EQ(foreign({{"module", "keras.layers"}, {"registered_name", nullptr}}), "");
  EXPECT_EQ(foreign({{"module", "keras.src.layers.core.dense"}, {"registered_name", "Dense"}}), "");
  EXPECT_TRUE(contains(foreign({{"module", "__main__"}}), "not Keras' own"));
  EXPECT_TRUE(contains(foreign({{"registered_name", "mine>Dense"}}), "not Keras' own"));
}

TEST(LayerConfig, MalformedLayersAreUserErrors) {
  for (const char* text : {"3", "{}", R"({"class_name": 3})", R"({"class_name": "Dense"})",
                           R"({"class_name": "Dense", "config": []})"}) {
    EXPECT_NE(error_of([&] { make_layer(json::parse(text), {"m.json", 3}); }), "") << text;
  }
}

TEST(LayerConfig, EveryActivationStringIsReadAndWritten) {
  for (const char* name : {"relu", "relu6", "leaky_relu", "elu", "selu", "gelu", "swish", "sigmoid", "tanh",
                           "softplus", "softsign", "softmax", "exponential", "mish", "linear"}) {
    auto layer = make("Activation", {{"activation", name}});
    EXPECT_EQ(layer->config()["activation"], name);
    EXPECT_TRUE(layer->split_activation().empty());
    expect_round_trip(*layer);
  }
  EXPECT_EQ(make("Activation", {{"activation", "silu"}})->config()["activation"], "swish");
}

TEST(LayerConfig, ActivationObjectsBecomeNamesOrLayers) {
  const auto dense = [](const json& activation, int keras_major = 3) {
    return make("Dense", {{"units", 2}, {"activation", activation}}, keras_major);
  };
  EXPECT_EQ(dense({{"class_name", "ReLU"}, {"config", {{"max_value", 6.0}}}})->config()["activation"],
            "relu6");
  EXPECT_EQ(dense({{"class_name", "Softmax"}, {"config", {{"axis", -1}}}})->config()["activation"],
            "softmax");
  EXPECT_EQ(dense({{"class_name", "function"}, {"config", "tanh"}, {"module", "keras.activations"}})
                ->config()["activation"],
            "tanh");
  EXPECT_NE(error_of([&] {
              dense({{"class_name", "function"}, {"config", "relu"}, {"module", "builtins"}});
            }),
            "");

  auto leaky = dense({{"class_name", "LeakyReLU"}, {"config", {{"alpha", 0.1}}}}, 2);
  auto split = leaky->split_activation();
  ASSERT_EQ(split.size(), 1u);
  EXPECT_EQ(leaky->config()["activation"], "linear");
  EXPECT_EQ(split[0]->class_name, "ReLU");
  EXPECT_EQ(split[0]->name, "l_activation");
  EXPECT_EQ(split[0]->config()["negative_slope"], 0.1);
  expect_round_trip(*split[0]);
}

TEST(LayerConfig, HardSigmoidIsThatOfTheFilesKeras) {
  const std::array<std::pair<int, double>, 2> slopes{{{2, 0.2}, {3, 1.0 / 6.0}}};
  for (const auto& [keras_major, slope] : slopes) {
    auto layer = make("Activation", {{"activation", "hard_sigmoid"}}, keras_major);
    const auto split = layer->split_activation();
    ASSERT_EQ(split.size(), 2u);
    EXPECT_EQ(split[0]->class_name, "Rescaling");
    EXPECT_EQ(split[0]->config()["scale"], slope);
    EXPECT_EQ(split[0]->config()["offset"], 0.5);
    EXPECT_EQ(split[1]->class_name, "ReLU");
    EXPECT_EQ(split[1]->config()["max_value"], 1.0);
    EXPECT_EQ(layer->config()["activation"], "linear");
  }
}

TEST(LayerConfig, ActivationLayersKeepTheirOptions) {
  const auto relu = make("ReLU", {{"max_value", 5.5}, {"negative_slope", 0.1}, {"threshold", 1.0}});
  EXPECT_EQ(relu->config()["max_value"], 5.5);
  EXPECT_EQ(relu->config()["negative_slope"], 0.1);
  EXPECT_EQ(relu->config()["threshold"], 1.0);
  expect_round_trip(*relu);
  EXPECT_EQ(make("ReLU", {{"max_value", nullptr}})->config()["max_value"], json());
  // Keras 2 stores the default as a float32.
  EXPECT_EQ(make("LeakyReLU", {{"alpha", 0.30000001192092896}}, 2)->config()["alpha"], 0.3);
  EXPECT_EQ(make("LeakyReLU", {{"negative_slope", 0.25}})->config()["alpha"], 0.25);
  EXPECT_EQ(make("LeakyReLU")->config()["alpha"], 0.3);
  expect_round_trip(*make("ELU", {{"alpha", 0.5}}));
  expect_round_trip(*make("Softmax", {{"axis", -1}}));
}

TEST(LayerConfig, RegularizersInAllForms) {
  const auto l1l2 = [](const json& value) {
    auto layer = make("Dense", {{"units", 2}, {"kernel_regularizer", value}});
    build(*layer, {{2}});
    const Regularizer& r = layer->weights()[0].regularizer;
    return std::pair(shortest(r.l1), shortest(r.l2));
  };
  EXPECT_EQ(l1l2("l1"), std::pair(0.01, 0.0));
  EXPECT_EQ(l1l2("l1_l2"), std::pair(0.01, 0.01));
  EXPECT_EQ(l1l2({{"class_name", "L1"}, {"config", {{"l1", 0.5}}}}), std::pair(0.5, 0.0));
  EXPECT_EQ(l1l2({{"class_name", "L2"}, {"config", {{"l2", 0.5}}}}), std::pair(0.0, 0.5));
  EXPECT_EQ(l1l2({{"class_name", "L1L2"}, {"config", {{"l1", 0.25}, {"l2", 0.5}}}}), std::pair(0.25, 0.5));
  EXPECT_EQ(l1l2({{"class_name", "L1L2"}, {"config", json::object()}}), std::pair(0.0, 0.0));
}

TEST(LayerConfig, TheTableHasNoNameTwice) {
  for (std::size_t i = 0; i < layer_entries().size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(layer_entries()[i].class_name, layer_entries()[j].class_name);
    }
  }
}

}  // namespace
}  // namespace stoker::keras
