// Reading architectures: dialects, flattening, refusals.
#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

Model read(const json& architecture, const std::optional<Shape>& data_shape = std::nullopt) {
  return model_from_json(architecture, "m.json", 0, data_shape);
}

json x_input() { return input_config("x", {nullptr, 4}); }

// {"args": [tensor], "kwargs": {…}} of Keras 3.
json keras3_call(const std::string& layer, int node, const json& keywords = json::object()) {
  return {
      {"args", json::array({{{"class_name", "__keras_tensor__"},
                             {"config", {{"shape", {nullptr, 4}}, {"keras_history", {layer, node, 0}}}}}})},
      {"kwargs", keywords}};
}

TEST(Architecture, TheOrderIsKerasNotTheFiles) {
  const Model model = read(functional("m",
                                      {add_config("sum", {"early", "deep"}), dense_config("deep", {"late"}),
                                       dense_config("early", {"x"}), dense_config("late", {"x"}), x_input()},
                                      {"x", 0, 0}, {{"sum", 0, 0}}));
  EXPECT_EQ(layer_names(model), (Names{"x", "late", "early", "deep", "sum"}));
  EXPECT_EQ(model.weights[0].name, "late/kernel");
  EXPECT_EQ(model.output_shape(), Shape{4});
}

TEST(Architecture, SequentialForms) {
  const json dense = {{"class_name", "Dense"}, {"config", {{"name", "d"}, {"units", 3}}}};
  json with_shape = dense;
  with_shape["config"]["batch_input_shape"] = {nullptr, 4};
  const json bare_list = {{"class_name", "Sequential"}, {"config", json::array({with_shape})}};
  EXPECT_EQ(read(bare_list).input_shape(), Shape{4});
  json built = sequential({dense});
  built["config"]["build_input_shape"] = {nullptr, 4};
  const Model model = read(built);
  EXPECT_EQ(model.input_shape(), Shape{4});
  EXPECT_TRUE(model.sequential);
}

TEST(Architecture, AnOpenInputShapeComesFromTheData) {
  const json unbuilt = sequential({dense_config("d", {})});
  EXPECT_SAYS(user_error([&] { read(unbuilt); }), "no input shape");
  EXPECT_EQ(read(unbuilt, Shape{7}).weights[0].spec.shape, (Shape{7, 4}));
  const json open = sequential({input_config("x", {nullptr, nullptr, 3}), dense_config("d", {})});
  EXPECT_SAYS(user_error([&] { read(open); }), "(None, 3)");
  EXPECT_EQ(read(open, Shape{5, 3}).output_shape(), (Shape{5, 4}));
  EXPECT_SAYS(user_error([&] { read(open, Shape{5, 2}); }), "(5, 2)");
}

TEST(Architecture, NamesAreGivenWhereTheFileHasNone) {
  const json dense = {{"class_name", "Dense"}, {"config", {{"units", 4}}}};
  EXPECT_EQ(layer_names(read(sequential({x_input(), dense, dense}))), (Names{"x", "dense", "dense_1"}));
}

// A nested model called twice, in both numberings of its calls; the output is the second call.
TEST(Architecture, NestedModelsBecomeTheirLayers) {
  json inner = functional("inner", {input_config("in", {nullptr, 4}), dense_config("d/1", {"in"})},
                          {{"in", 0, 0}}, {{"d/1", 0, 0}});
  inner["name"] = "inner";
  json keras2 = inner, keras3 = inner;
  keras2["inbound_nodes"] = json::parse(R"([[["x", 0, 0, {}]], [["inner", 1, 0, {}]]])");
  keras3["inbound_nodes"] = {keras3_call("x", 0, {{"mask", nullptr}}), keras3_call("inner", 0)};
  for (const json& nested : {keras2, keras3}) {
    const Model model = read(
        functional("m", {x_input(), nested, dense_config("inner_d_1", {"x"})}, {"x", 0, 0}, {"inner", 2, 0}));
    EXPECT_EQ(layer_names(model), (Names{"x", "inner_d_1"}));
    EXPECT_EQ(model.layer_paths[1], "inner/d/1");
    ASSERT_EQ(model.calls.size(), 3u);
    EXPECT_EQ(model.calls[2].inputs, std::vector<std::size_t>{1});
    EXPECT_EQ(model.output_call, 2u);
    EXPECT_EQ(model.weights.size(), 2u);
  }
}

TEST(Architecture, FlatNamesAreUnique) {
  json inner = functional("a", {input_config("in", {nullptr, 4}), dense_config("b", {"in"})}, {{"in", 0, 0}},
                          {{"b", 0, 0}});
  inner["name"] = "a";
  inner["inbound_nodes"] = json::parse(R"([[["a_b", 0, 0, {}]]])");
  const Model model =
      read(functional("m", {x_input(), inner, dense_config("a_b", {"x"})}, {{"x", 0, 0}}, {{"a", 1, 0}}));
  EXPECT_EQ(layer_names(model), (Names{"x", "a_b", "a_b_1"}));
}

TEST(Architecture, AFrozenModelFreezesItsLayers) {
  json inner = sequential({x_input(), dense_config("d", {})});
  inner["config"]["trainable"] = false;
  const Model model = read(sequential({x_input(), inner, dense_config("e", {})}));
  EXPECT_EQ(model.parameter_count(false), 40);
  EXPECT_EQ(model.parameter_count(true), 20);
}

TEST(Architecture, TrainingFalseIsHeldToInTheKeras2Dialect) {
  json norm = {{"class_name", "BatchNormalization"}, {"name", "n"}, {"config", {{"name", "n"}}}};
  norm["inbound_nodes"] = json::parse(R"([[["x", 0, 0, {"training": false}]]])");
  EXPECT_TRUE(read(functional("m", {x_input(), norm}, {{"x", 0, 0}}, {{"n", 0, 0}})).calls[1].inference);
  norm["inbound_nodes"] = {keras3_call("x", 0, {{"training", false}})};
  EXPECT_FALSE(read(functional("m", {x_input(), norm}, {{"x", 0, 0}}, {{"n", 0, 0}})).calls[1].inference);
}

struct Refused {
  const char* nodes;
  const char* says;
};

TEST(Architecture, CallsThatAreNotHonouredAreRefusedByLayer) {
  for (const Refused& refused :
       {Refused{R"([[["x", 0, 0, {"training": true}]]])", "training=true"},
        {R"([[["x", 0, 0, {"mask": {"value": ["x", 0, 0]}}]]])", "tensor argument \"mask\""},
        {R"([[["x", 0, 1, {}]]])", "output 1 of layer x"},
        {R"([[["y", 0, 0, {}]]])", "layer y, which is not there"},
        {R"([[["x", 3, 0, {}]]])", "call 3 of layer x"},
        {R"([[]])", "no input tensor"},
        {R"([{"args": [2.0], "kwargs": {}}])", "2.0 (no tensor)"},
        {R"([[["d", 0, 0, {}]]])", "cycle"}}) {
    json dense = dense_config("d", {});
    dense["inbound_nodes"] = json::parse(refused.nodes);
    const std::string message = user_error([&] {
      read(functional("m", {x_input(), dense}, {{"x", 0, 0}}, {{"d", 0, 0}}));
    });
    EXPECT_SAYS(message, refused.says);
    EXPECT_SAYS(message, "m.json");
  }
}

TEST(Architecture, ModelsThatAreNotSupportedAreRefused) {
  const json two = json::array({{"x", 0, 0}, {"x", 0, 0}});
  EXPECT_SAYS(user_error([&] { read(functional("m", {x_input()}, two, {"x", 0, 0})); }), "2 inputs");
  EXPECT_SAYS(user_error([&] { read(functional("m", {x_input()}, {"x", 0, 0}, two)); }), "2 outputs");
  EXPECT_SAYS(user_error([&] { read({{"class_name", "MyModel"}, {"config", json::object()}}); }), "MyModel");
  EXPECT_SAYS(user_error([&] { read(sequential({})); }), "no layers");
  EXPECT_SAYS(user_error([&] { read(sequential({x_input()})); }), "no layers");
  EXPECT_SAYS(user_error([&] { read({{"class_name", "Sequential"}}); }), "config");
  EXPECT_SAYS(user_error([&] { read(json::array()); }), "m.json");
  EXPECT_SAYS(user_error([&] {
                read(sequential({x_input(), dense_config("d", {}), dense_config("d", {})}));
              }),
              "two layers have the name d");
}

TEST(Architecture, FreshWeightsDependOnTheSeedOnly) {
  const json architecture = sequential({x_input(), dense_config("a", {}), dense_config("b", {})});
  const std::string first = weights_hash(model_from_json(architecture, "m", 1));
  EXPECT_EQ(first, weights_hash(model_from_json(architecture, "other", 1)));
  EXPECT_NE(first, weights_hash(model_from_json(architecture, "m", 2)));
}

TEST(Architecture, InspectCountsParameters) {
  const json inspected = inspect_json(read(sequential({x_input(), dense_config("a", {}, 3)})));
  EXPECT_EQ(inspected["parameters"], 15);
  EXPECT_EQ(inspected["inputs"][0]["shape"], (json{nullptr, 4}));
  EXPECT_EQ(inspected["layers"][1]["name"], "a");
  EXPECT_EQ(inspected["layers"][1]["class"], "Dense");
  EXPECT_EQ(inspected["layers"][1]["output_shape"], (json{nullptr, 3}));
  EXPECT_EQ(inspected["layers"][1]["parameters"], 15);
}

}  // namespace
}  // namespace stoker::keras
