#include "lib/keras/layers/layer_table.h"

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/keras/layers/activation_layers.h"
#include "lib/keras/layers/layer_classes.h"
#include "lib/keras/layers/preprocessing_layers.h"

namespace stoker::keras {

namespace {

const LayerEntry kLayers[] = {
    {"InputLayer", "InputLayer", make_input},
    {"Dense", "Dense", make_dense},
    {"Conv2D", "Conv2D", make_conv2d},
    {"DepthwiseConv2D", "DepthwiseConv2D", make_depthwise_conv2d},
    {"SeparableConv2D", "SeparableConv2D", make_separable_conv2d},
    {"MaxPooling2D", "MaxPooling2D", make_max_pooling2d},
    {"AveragePooling2D", "AveragePooling2D", make_average_pooling2d},
    {"GlobalMaxPooling2D", "GlobalMaxPooling2D", make_global_max_pooling2d},
    {"GlobalAveragePooling2D", "GlobalAveragePooling2D", make_global_average_pooling2d},
    {"BatchNormalization", "BatchNormalization", make_batch_normalization},
    {"Dropout", "Dropout", make_dropout},
    {"Activation", "Activation", make_activation},
    {"ReLU", "ReLU", make_relu},
    {"LeakyReLU", "LeakyReLU", make_leaky_relu},
    {"ELU", "ELU", make_elu},
    {"Softmax", "Softmax", make_softmax},
    {"Flatten", "Flatten", make_flatten},
    {"Reshape", "Reshape", make_reshape},
    {"ZeroPadding2D", "ZeroPadding2D", make_zero_padding2d},
    {"Cropping2D", "Cropping2D", make_cropping2d},
    {"Identity", "Identity", make_identity},
    {"Add", "Add", make_merge},
    {"Average", "Average", make_merge},
    {"Maximum", "Maximum", make_merge},
    {"Minimum", "Minimum", make_merge},
    {"Multiply", "Multiply", make_merge},
    {"Subtract", "Subtract", make_merge},
    {"Concatenate", "Concatenate", make_concatenate},
    {"Rescaling", "Rescaling", make_rescaling_layer},
    {"Normalization", "Normalization", make_normalization},
    // Names that Keras knows these by as well.
    {"Convolution2D", "Conv2D", make_conv2d},
    {"DepthwiseConvolution2D", "DepthwiseConv2D", make_depthwise_conv2d},
    {"SeparableConvolution2D", "SeparableConv2D", make_separable_conv2d},
    {"MaxPool2D", "MaxPooling2D", make_max_pooling2d},
    {"AvgPool2D", "AveragePooling2D", make_average_pooling2d},
    {"GlobalMaxPool2D", "GlobalMaxPooling2D", make_global_max_pooling2d},
    {"GlobalAvgPool2D", "GlobalAveragePooling2D", make_global_average_pooling2d},
    {"BatchNormalizationV1", "BatchNormalization", make_batch_normalization},
    {"BatchNormalizationV2", "BatchNormalization", make_batch_normalization},
};

// Layers that people meet often and that cannot be read, with what to do instead.
struct Refusal {
  std::string_view class_name, reason;
};
const Refusal kRefusals[] = {
    {"Lambda", "its function is Python code: write it with layers"},
    {"TFOpLambda",
     "a TensorFlow function in the model: use the layer that does the same (Add, Activation, …)"},
    {"SlicingOpLambda", "a slice of a tensor in the model: use Cropping2D"},
    {"PReLU", "its slopes are weights: use LeakyReLU"},
    {"SpatialDropout2D", "use Dropout"},
    {"GaussianNoise", "use --augment, or leave it out"},
    {"GaussianDropout", "use Dropout"},
    {"AlphaDropout", "use Dropout"},
    {"ActivityRegularization", "use kernel_regularizer"},
    {"Permute", "store the data channels last"},
};

const LayerEntry* find_entry(std::string_view class_name) {
  for (const LayerEntry& entry : kLayers) {
    if (entry.class_name == class_name) return &entry;
  }
  return nullptr;
}

}  // namespace

std::span<const LayerEntry> layer_entries() { return kLayers; }

std::vector<std::string_view> layer_class_names() {
  std::vector<std::string_view> names;
  for (const LayerEntry& entry : kLayers) {
    if (entry.class_name == entry.written_as) names.push_back(entry.class_name);
  }
  return names;
}

namespace {

const LayerEntry& entry_of(const ConfigReader& reader) {
  for (const Refusal& refusal : kRefusals) {
    if (refusal.class_name == reader.class_name()) reader.fail("unsupported layer", refusal.reason);
  }
  if (const LayerEntry* entry = find_entry(reader.class_name())) return *entry;
  std::vector<std::string> known;
  for (const std::string_view name : layer_class_names()) known.emplace_back(name);
  reader.fail("unknown layer", "the layers known are " + join(known, ", "));
}

}  // namespace

void check_layer_class(const nlohmann::json& layer, const ParseContext& context) {
  static_cast<void>(entry_of(ConfigReader(layer, context)));
}

std::unique_ptr<Layer> make_layer(const nlohmann::json& layer, const ParseContext& context) {
  ConfigReader reader(layer, context);
  const LayerEntry* const entry = &entry_of(reader);
  std::unique_ptr<Layer> made = entry->make(reader);
  made->class_name = entry->written_as;
  reader.finish();
  return made;
}

}  // namespace stoker::keras
