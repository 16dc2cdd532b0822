// The built-in architectures: their sizes are those that are published. tests/golden/test_builtin_models.py opens them
// in Keras.
#include <cstdint>
#include <map>

#include "lib/keras/model.h"
#include "tests/unit/keras_layers/layer_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;

struct Count {
  std::int64_t all = 0, trainable = 0;
};

// Builds the layers of a built-in model by its own JSON, call by call.
Count count_parameters(const json& model) {
  Count count;
  std::map<std::string, Shape> shapes;
  std::string previous;
  for (const json& entry : model["config"]["layers"]) {
    const auto layer = make_layer(entry, {"built-in", 3});
    std::vector<Shape> inputs;
    if (entry.contains("inbound_nodes")) {
      for (const json& node : entry["inbound_nodes"]) {
        for (const json& tensor : node) inputs.push_back(shapes.at(tensor[0].get<std::string>()));
      }
    } else if (!previous.empty()) {
      inputs.push_back(shapes.at(previous));
    }
    shapes[layer->name] = layer->build(inputs);
    previous = layer->name;
    for (const WeightSpec& weight : layer->weights()) {
      count.all += weight.shape.elements();
      if (weight.trainable) count.trainable += weight.shape.elements();
    }
  }
  EXPECT_EQ(shapes.at(previous).rank(), 1u);
  return count;
}

TEST(BuiltinModels, HaveTheSizesThatArePublished) {
  const Shape imagenet{224, 224, 3};
  // keras.applications; torchvision for those that it lacks (trainable ones: it counts no moving statistics).
  EXPECT_EQ(count_parameters(builtin_model("resnet50", 1000, imagenet)).all, 25'636'712);
  EXPECT_EQ(count_parameters(builtin_model("resnet101", 1000, imagenet)).all, 44'707'176);
  EXPECT_EQ(count_parameters(builtin_model("mobilenetv2", 1000, imagenet)).all, 3'538'984);
  EXPECT_EQ(count_parameters(builtin_model("vgg16", 1000, imagenet)).all, 138'357'544);
  EXPECT_EQ(count_parameters(builtin_model("vgg11", 1000, imagenet)).all, 132'863'336);
  EXPECT_EQ(count_parameters(builtin_model("resnet18", 1000, imagenet)).trainable, 11'689'512);
  EXPECT_EQ(count_parameters(builtin_model("resnet34", 1000, imagenet)).trainable, 21'797'672);
  EXPECT_EQ(count_parameters(builtin_model("lenet5", 10, {28, 28, 1})).all, 61'706);
  EXPECT_EQ(count_parameters(builtin_model("convnet", 10, {28, 28, 1})).all, 225'034);
  EXPECT_EQ(count_parameters(builtin_model("mlp", 10, {28, 28, 1})).all, 785 * 128 + 129 * 128 + 129 * 10);
}

TEST(BuiltinModels, EndInASoftmaxOfTheClassesAsked) {
  for (const std::string& name : builtin_model_names()) {
    const json model = builtin_model(name, 7, {32, 32, 3});
    const json& last = model["config"]["layers"].back();
    EXPECT_EQ(last["config"]["units"], 7) << name;
    EXPECT_EQ(last["config"]["activation"], "softmax") << name;
    EXPECT_EQ(model["config"]["name"], name);
    EXPECT_GT(count_parameters(model).all, 0) << name;
  }
}

TEST(BuiltinModels, ChainsAreSequential) {
  EXPECT_EQ(builtin_model("convnet_bn", 10, {8, 8, 1})["class_name"], "Sequential");
  EXPECT_EQ(builtin_model("resnet18", 10, {32, 32, 3})["class_name"], "Model");
}

TEST(BuiltinModels, MistakesAreUserErrors) {
  const auto error = [](const std::string& name, std::int64_t classes, const Shape& shape) {
    return error_of([&] { builtin_model(name, classes, shape); });
  };
  EXPECT_TRUE(contains(error("alexnet", 10, {28, 28, 1}),
                       "unknown model alexnet: stoker model: the models are mlp, "));
  EXPECT_TRUE(contains(error("mlp", 1, {28, 28, 1}), "1 classes: --classes: "));
  EXPECT_TRUE(contains(error("convnet", 10, {8, 8, 1}),
                       "inputs of shape (8, 8, 1) do not fit convnet: --input-shape: "));
  EXPECT_TRUE(contains(error("resnet50", 10, {32}), "--input-shape"));
}

}  // namespace
}  // namespace stoker::keras
