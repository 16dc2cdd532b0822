// builtin_model() of lib/keras/model.h: the table of architectures, and the plain chains among them.
#include <array>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/keras/layers/builtin_families.h"
#include "lib/keras/model.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

constexpr std::array kVgg11{1, 1, 2, 2, 2}, kVgg16{2, 2, 3, 3, 3};
constexpr std::array kResNet18{2, 2, 2, 2}, kResNet34{3, 4, 6, 3}, kResNet101{3, 4, 23, 3};

struct BuiltinEntry {
  const char* name;
  Tensor (*add_body)(BuiltinWriter& writer, Tensor image);
};

const BuiltinEntry kBuiltins[] = {
    {"mlp", add_mlp},
    {"lenet5", add_lenet5},
    {"convnet", add_convnet},
    {"convnet_bn", add_convnet_bn},
    {"vgg11", [](BuiltinWriter& w, Tensor x) { return add_vgg(w, x, kVgg11); }},
    {"vgg16", [](BuiltinWriter& w, Tensor x) { return add_vgg(w, x, kVgg16); }},
    {"resnet18", [](BuiltinWriter& w, Tensor x) { return add_basic_resnet(w, x, kResNet18); }},
    {"resnet34", [](BuiltinWriter& w, Tensor x) { return add_basic_resnet(w, x, kResNet34); }},
    {"resnet50", [](BuiltinWriter& w, Tensor x) { return add_bottleneck_resnet(w, x, kResNet34); }},
    {"resnet101", [](BuiltinWriter& w, Tensor x) { return add_bottleneck_resnet(w, x, kResNet101); }},
    {"mobilenetv2", add_mobilenetv2},
};

}  // namespace

Tensor add_mlp(BuiltinWriter& writer, Tensor x) {
  if (writer.input_rank() > 1) x = writer.add("Flatten", "flatten", {}, {x});
  x = writer.add("Dense", "dense1", {{"units", 128}, {"activation", "relu"}}, {x});
  return writer.add("Dense", "dense2", {{"units", 128}, {"activation", "relu"}}, {x});
}

Tensor add_lenet5(BuiltinWriter& writer, Tensor x) {
  const auto convolution = [](int filters, const char* padding) {
    return json{{"filters", filters}, {"kernel_size", 5}, {"padding", padding}, {"activation", "tanh"}};
  };
  x = writer.add("Conv2D", "conv1", convolution(6, "same"), {x});
  x = writer.add("AveragePooling2D", "pool1", {{"pool_size", 2}}, {x});
  x = writer.add("Conv2D", "conv2", convolution(16, "valid"), {x});
  x = writer.add("AveragePooling2D", "pool2", {{"pool_size", 2}}, {x});
  x = writer.add("Flatten", "flatten", {}, {x});
  x = writer.add("Dense", "dense1", {{"units", 120}, {"activation", "tanh"}}, {x});
  return writer.add("Dense", "dense2", {{"units", 84}, {"activation", "tanh"}}, {x});
}

Tensor add_convnet(BuiltinWriter& writer, Tensor x) {
  for (int block = 1; block <= 2; ++block) {
    const std::string number = std::to_string(block);
    x = writer.add("Conv2D", "conv" + number,
                   {{"filters", 32 * block}, {"kernel_size", 3}, {"activation", "relu"}}, {x});
    x = writer.add("MaxPooling2D", "pool" + number, {{"pool_size", 2}}, {x});
  }
  x = writer.add("Flatten", "flatten", {}, {x});
  return writer.add("Dense", "dense", {{"units", 128}, {"activation", "relu"}}, {x});
}

Tensor add_convnet_bn(BuiltinWriter& writer, Tensor x) {
  for (int block = 1; block <= 2; ++block) {
    const std::string number = std::to_string(block);
    for (const char* part : {"a", "b"}) {
      const json convolution = {
          {"filters", 32 * block}, {"kernel_size", 3}, {"padding", "same"}, {"use_bias", false}};
      x = writer.add("Conv2D", "conv" + number + part, convolution, {x});
      x = writer.add("BatchNormalization", "norm" + number + part, {{"momentum", 0.9}}, {x});
      x = writer.add("ReLU", "relu" + number + part, {}, {x});
    }
    x = writer.add("MaxPooling2D", "pool" + number, {{"pool_size", 2}}, {x});
    x = writer.add("Dropout", "dropout" + number, {{"rate", 0.25}}, {x});
  }
  x = writer.add("Flatten", "flatten", {}, {x});
  x = writer.add("Dense", "dense", {{"units", 128}, {"activation", "relu"}}, {x});
  return writer.add("Dropout", "dropout3", {{"rate", 0.5}}, {x});
}

Tensor add_vgg(BuiltinWriter& writer, Tensor x, std::span<const int> convolutions) {
  for (std::size_t block = 0; block < convolutions.size(); ++block) {
    const std::string prefix = "block" + std::to_string(block + 1);
    const int filters = block < 4 ? 64 << block : 512;
    for (int k = 1; k <= convolutions[block]; ++k) {
      const json convolution = {
          {"filters", filters}, {"kernel_size", 3}, {"padding", "same"}, {"activation", "relu"}};
      x = writer.add("Conv2D", prefix + "_conv" + std::to_string(k), convolution, {x});
    }
    x = writer.add("MaxPooling2D", prefix + "_pool", {{"pool_size", 2}}, {x});
  }
  x = writer.add("Flatten", "flatten", {}, {x});
  x = writer.add("Dense", "fc1", {{"units", 4096}, {"activation", "relu"}}, {x});
  return writer.add("Dense", "fc2", {{"units", 4096}, {"activation", "relu"}}, {x});
}

std::vector<std::string> builtin_model_names() {
  std::vector<std::string> names;
  for (const BuiltinEntry& entry : kBuiltins) names.emplace_back(entry.name);
  return names;
}

json builtin_model(const std::string& name, std::int64_t classes, const Shape& input_shape) {
  const BuiltinEntry* found = nullptr;
  for (const BuiltinEntry& entry : kBuiltins) {
    if (entry.name == name) found = &entry;
  }
  if (found == nullptr) {
    throw UserError("unknown model " + name, "stoker model",
                    "the models are " + join(builtin_model_names(), ", "));
  }
  if (classes < 2) {
    throw UserError(std::to_string(classes) + " classes", "--classes", "give at least 2");
  }
  if (input_shape.rank() == 1 && name != "mlp")
    throw UserError(name + " takes images", "--input-shape " + to_string(input_shape),
                    "write HxWxC, or use mlp");
  BuiltinWriter writer(name);
  const Tensor image = writer.input(input_shape);
  Tensor body;
  try {
    body = found->add_body(writer, image);
  } catch (const UserError&) {  // names a layer in the middle, which the user has not written
    throw UserError("inputs of shape " + to_string(input_shape) + " do not fit " + name, "--input-shape",
                    "give larger images as HxWxC, or use convnet_bn or mlp");
  }
  const json classifier = {{"units", classes}, {"activation", "softmax"}};
  return writer.finish(writer.add("Dense", "predictions", classifier, {body}));
}

}  // namespace stoker::keras
