#include <filesystem>

#include "lib/hdf5/hdf5_file.h"
#include "lib/keras/losses_metrics.h"
#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

// d is called twice, on x and on its own output.
json shared_architecture() {
  json d = dense_config("d", {"x"});
  d["inbound_nodes"].push_back(json::parse(R"([["d", 0, 0, {}]])"));
  json sum = add_config("sum", {"d", "x"});
  sum["inbound_nodes"][0][0][1] = 1;
  return functional("m", {input_config("x", {nullptr, 4}), d, sum}, {{"x", 0, 0}}, {{"sum", 0, 0}});
}

TEST(SaveModel, ReadsBackAsTheSameModel) {
  const Model model = model_from_json(shared_architecture(), "m", 3);
  const std::string path = temporary("shared.h5");
  save_model_h5(model, path);
  const Model again = load_model(path, 0);
  EXPECT_EQ(weights_hash(again), weights_hash(model));
  EXPECT_EQ(again.to_json(), model.to_json());
  ASSERT_EQ(again.calls.size(), model.calls.size());
  for (std::size_t k = 0; k < model.calls.size(); ++k) {
    EXPECT_EQ(again.calls[k].layer, model.calls[k].layer);
    EXPECT_EQ(again.calls[k].inputs, model.calls[k].inputs);
  }
}

TEST(SaveModel, KeepsWhatTheModelWasTrainedWith) {
  Model model = model_from_json(shared_architecture(), "m", 3);
  const std::string path = temporary("classes.h5");
  save_model_h5(model, path);
  EXPECT_EQ(load_model(path, 0).trained_with.class_names, Names{});
  EXPECT_FALSE(load_model(path, 0).weights_are_drawn);
  model.trained_with = {{"a b", "", "ä"}, "huber:delta=0.5", {"mae", "mse"}};
  save_model_h5(model, path);
  const Model again = load_model(path, 0);
  EXPECT_EQ(again.trained_with.class_names, model.trained_with.class_names);
  const Objective objective = resolve_objective(again, {false, {4}, 0, "data"}, std::nullopt, std::nullopt);
  EXPECT_EQ(objective.loss_text, "huber:delta=0.5");
  ASSERT_EQ(objective.metrics.size(), 2u);
  EXPECT_EQ(objective.metrics[1].name, "mse");
  const Objective other = resolve_objective(again, {false, {4}, 0, "data"}, "mean_squared_error", Names{});
  EXPECT_EQ(other.loss_text, "mean_squared_error");
  EXPECT_TRUE(other.metrics.empty());
  Model fresh = model_from_json(shared_architecture(), "m", 3);
  load_weights(fresh, path);
  EXPECT_EQ(fresh.trained_with.class_names, model.trained_with.class_names);
}

// What both Keras versions need, and what one of them refuses.
TEST(SaveModel, TheCommonDialect) {
  const json functional_json = model_from_json(shared_architecture(), "m", 3).to_json();
  EXPECT_EQ(functional_json["class_name"], "Functional");
  const json& config = functional_json["config"];
  EXPECT_EQ(config["input_layers"], json::parse(R"([["x", 0, 0]])"));
  EXPECT_EQ(config["layers"][0]["config"]["batch_input_shape"], json::parse("[null, 4]"));
  EXPECT_FALSE(config["layers"][0]["config"].contains("batch_shape"));
  EXPECT_EQ(config["layers"][1]["inbound_nodes"], json::parse(R"([[["x",0,0,{}]], [["d",0,0,{}]]])"));
  EXPECT_EQ(config["layers"][2]["inbound_nodes"], json::parse(R"([[["d",1,0,{}], ["x",0,0,{}]]])"));
}

TEST(SaveModel, TheGroupsOfTheLegacyFormat) {
  const std::string path = temporary("groups.h5");
  save_model_h5(model_from_json(sequential({input_config("x", {nullptr, 4}), dense_config("d", {})}), "m", 1),
                path);
  const hdf5::File file = hdf5::File::open(path);
  EXPECT_EQ(file.text_list_attribute("model_weights", "layer_names"), Names{"d"});
  EXPECT_EQ(file.text_list_attribute("model_weights/d", "weight_names"), (Names{"d/kernel:0", "d/bias:0"}));
  EXPECT_EQ(file.text_list_attribute("model_weights/top_level_model_weights", "weight_names"), Names{});
  EXPECT_TRUE(file.text_attribute("", "keras_version") &&
              file.text_attribute("model_weights", "keras_version"));
  EXPECT_FALSE(file.has_attribute("", "training_config"));
  EXPECT_EQ(file.dataset("model_weights/d/d/kernel:0").info().shape, (Shape{4, 4}));
}

TEST(SaveModel, TrainingFalseIsWritten) {
  json norm = {{"class_name", "BatchNormalization"}, {"name", "n"}, {"config", {{"name", "n"}}}};
  norm["inbound_nodes"] = json::parse(R"([[["x", 0, 0, {"training": false}]]])");
  const Model model = model_from_json(
      functional("m", {input_config("x", {nullptr, 4}), norm}, {{"x", 0, 0}}, {{"n", 0, 0}}), "m", 0);
  const std::string path = temporary("inference.h5");
  save_model_h5(model, path);
  EXPECT_TRUE(load_model(path, 0).calls[1].inference);
}

TEST(SaveModel, AFailedWriteLeavesTheOldFileAndNoOther) {
  const std::string folder = temporary("folder");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/model.h5/occupied");  // rename cannot replace it
  const Model model = model_from_json(shared_architecture(), "m", 3);
  EXPECT_THROW(save_model_h5(model, folder + "/model.h5"), SystemError);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_THROW(save_model_h5(model, folder + "/none/model.h5"), SystemError);
}

}  // namespace
}  // namespace stoker::keras
