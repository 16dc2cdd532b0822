// Residual networks and MobileNetV2. Names and options are those of keras.applications where it has the
// model, so that its weight files fit.
#include <algorithm>
#include <string>

#include "lib/keras/layers/builtin_families.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

constexpr double kResNetEpsilon = 1.001e-5;

struct Convolution {
  std::int64_t filters = 0, size = 1, stride = 1;
  const char* padding = "valid";
  bool use_bias = true;
};

Tensor add_convolution(BuiltinWriter& writer, const std::string& name, const Convolution& c,
                       const Tensor& x) {
  const json config = {{"filters", c.filters},
                       {"kernel_size", c.size},
                       {"strides", c.stride},
                       {"padding", c.padding},
                       {"use_bias", c.use_bias}};
  return writer.add("Conv2D", name, config, {x});
}

Tensor add_norm(BuiltinWriter& writer, const std::string& name, const Tensor& x) {
  return writer.add("BatchNormalization", name, {{"epsilon", kResNetEpsilon}}, {x});
}

Tensor add_relu(BuiltinWriter& writer, const std::string& name, const Tensor& x) {
  return writer.add("Activation", name, {{"activation", "relu"}}, {x});
}

Tensor add_zero_padding(BuiltinWriter& writer, const std::string& name, const json& padding,
                        const Tensor& x) {
  return writer.add("ZeroPadding2D", name, {{"padding", padding}}, {x});
}

// 7×7 with stride 2, 3×3 max pooling with stride 2, padded alike on both sides.
Tensor add_large_stem(BuiltinWriter& writer, Tensor x, bool use_bias) {
  x = add_zero_padding(writer, "conv1_pad", 3, x);
  x = add_convolution(writer, "conv1_conv", {64, 7, 2, "valid", use_bias}, x);
  x = add_relu(writer, "conv1_relu", add_norm(writer, "conv1_bn", x));
  x = add_zero_padding(writer, "pool1_pad", 1, x);
  return writer.add("MaxPooling2D", "pool1_pool", {{"pool_size", 3}, {"strides", 2}}, {x});
}

Tensor add_small_stem(BuiltinWriter& writer, Tensor x) {
  x = add_convolution(writer, "conv1_conv", {64, 3, 1, "same", false}, x);
  return add_relu(writer, "conv1_relu", add_norm(writer, "conv1_bn", x));
}

Tensor add_basic_block(BuiltinWriter& writer, const std::string& name, const Tensor& x, std::int64_t filters,
                       std::int64_t stride) {
  Tensor shortcut = x;
  if (stride != 1 || x.shape.back() != filters) {
    shortcut = add_convolution(writer, name + "_0_conv", {filters, 1, stride, "valid", false}, x);
    shortcut = add_norm(writer, name + "_0_bn", shortcut);
  }
  Tensor y = add_convolution(writer, name + "_1_conv", {filters, 3, stride, "same", false}, x);
  y = add_relu(writer, name + "_1_relu", add_norm(writer, name + "_1_bn", y));
  y = add_convolution(writer, name + "_2_conv", {filters, 3, 1, "same", false}, y);
  y = add_norm(writer, name + "_2_bn", y);
  return add_relu(writer, name + "_out", writer.add("Add", name + "_add", {}, {shortcut, y}));
}

// 1×1 with the stride, 3×3, 1×1 to four times the filters.
Tensor add_bottleneck(BuiltinWriter& writer, const std::string& name, const Tensor& x, std::int64_t filters,
                      std::int64_t stride, bool convolve_shortcut) {
  Tensor shortcut = x;
  if (convolve_shortcut) {
    shortcut = add_convolution(writer, name + "_0_conv", {4 * filters, 1, stride}, x);
    shortcut = add_norm(writer, name + "_0_bn", shortcut);
  }
  Tensor y = add_convolution(writer, name + "_1_conv", {filters, 1, stride}, x);
  y = add_relu(writer, name + "_1_relu", add_norm(writer, name + "_1_bn", y));
  y = add_convolution(writer, name + "_2_conv", {filters, 3, 1, "same"}, y);
  y = add_relu(writer, name + "_2_relu", add_norm(writer, name + "_2_bn", y));
  y = add_convolution(writer, name + "_3_conv", {4 * filters}, y);
  y = add_norm(writer, name + "_3_bn", y);
  return add_relu(writer, name + "_out", writer.add("Add", name + "_add", {}, {shortcut, y}));
}

std::string block_name(std::size_t stage, int block) {
  return "conv" + std::to_string(stage + 2) + "_block" + std::to_string(block);
}

Tensor add_mobile_norm(BuiltinWriter& writer, const std::string& name, const Tensor& x) {
  return writer.add("BatchNormalization", name, {{"epsilon", 1e-3}, {"momentum", 0.999}}, {x});
}

Tensor add_relu6(BuiltinWriter& writer, const std::string& name, const Tensor& x) {
  return writer.add("ReLU", name, {{"max_value", 6.0}}, {x});
}

// Expansion by 1×1, depthwise 3×3, projection by 1×1 without an activation; a residual where shapes allow it.
Tensor add_inverted_residual(BuiltinWriter& writer, const std::string& prefix, const Tensor& x,
                             std::int64_t expansion, std::int64_t filters, std::int64_t stride) {
  Tensor y = x;
  if (expansion != 1) {
    y = add_convolution(writer, prefix + "expand", {expansion * x.shape.back(), 1, 1, "same", false}, y);
    y = add_relu6(writer, prefix + "expand_relu", add_mobile_norm(writer, prefix + "expand_BN", y));
  }
  if (stride == 2) {
    const json padding = {{y.shape[0] % 2, 1}, {y.shape[1] % 2, 1}};
    y = add_zero_padding(writer, prefix + "pad", padding, y);
  }
  const json depthwise = {{"kernel_size", 3},
                          {"strides", stride},
                          {"padding", stride == 1 ? "same" : "valid"},
                          {"use_bias", false}};
  y = writer.add("DepthwiseConv2D", prefix + "depthwise", depthwise, {y});
  y = add_relu6(writer, prefix + "depthwise_relu", add_mobile_norm(writer, prefix + "depthwise_BN", y));
  y = add_convolution(writer, prefix + "project", {filters, 1, 1, "same", false}, y);
  y = add_mobile_norm(writer, prefix + "project_BN", y);
  const bool residual = stride == 1 && x.shape.back() == filters;
  return residual ? writer.add("Add", prefix + "add", {}, {x, y}) : y;
}

}  // namespace

Tensor add_basic_resnet(BuiltinWriter& writer, Tensor x, std::span<const int> blocks) {
  const bool small = x.shape.rank() == 3 && std::min(x.shape[0], x.shape[1]) < 64;
  x = small ? add_small_stem(writer, x) : add_large_stem(writer, x, false);
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int block = 1; block <= blocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 1 ? 2 : 1;
      x = add_basic_block(writer, block_name(stage, block), x, std::int64_t{64} << stage, stride);
    }
  }
  return writer.add("GlobalAveragePooling2D", "avg_pool", {}, {x});
}

Tensor add_bottleneck_resnet(BuiltinWriter& writer, Tensor x, std::span<const int> blocks) {
  x = add_large_stem(writer, x, true);
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    for (int block = 1; block <= blocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 1 ? 2 : 1;
      x = add_bottleneck(writer, block_name(stage, block), x, std::int64_t{64} << stage, stride, block == 1);
    }
  }
  return writer.add("GlobalAveragePooling2D", "avg_pool", {}, {x});
}

Tensor add_mobilenetv2(BuiltinWriter& writer, Tensor x) {
  struct Stage {
    std::int64_t expansion, filters, blocks, stride;
  };
  const Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                          {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  x = add_convolution(writer, "Conv1", {32, 3, 2, "same", false}, x);
  x = add_relu6(writer, "Conv1_relu", add_mobile_norm(writer, "bn_Conv1", x));
  int number = 0;
  for (const Stage& stage : stages) {
    for (int block = 0; block < stage.blocks; ++block, ++number) {
      const std::string prefix = number == 0 ? "expanded_conv_" : "block_" + std::to_string(number) + "_";
      x = add_inverted_residual(writer, prefix, x, stage.expansion, stage.filters,
                                block == 0 ? stage.stride : 1);
    }
  }
  x = add_convolution(writer, "Conv_1", {1280, 1, 1, "valid", false}, x);
  x = add_relu6(writer, "out_relu", add_mobile_norm(writer, "Conv_1_bn", x));
  return writer.add("GlobalAveragePooling2D", "global_average_pooling2d", {}, {x});
}

}  // namespace stoker::keras
