// The functions of the layer table that are not declared with their own helpers. Each reads the config that
// its class has in Keras 2 and 3 and throws UserError for what it does not honour.
#pragma once

#include <memory>

#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

std::unique_ptr<Layer> make_input(ConfigReader& reader);  // batch_shape or batch_input_shape

// y = act(x·kernel + bias) over the last axis; kernel (in, units).
std::unique_ptr<Layer> make_dense(ConfigReader& reader);

// Kernel (h, w, in / groups, filters).
std::unique_ptr<Layer> make_conv2d(ConfigReader& reader);
// Kernel (h, w, in, depth_multiplier); output channel c·depth_multiplier + m.
std::unique_ptr<Layer> make_depthwise_conv2d(ConfigReader& reader);
// A depthwise convolution, then a pointwise one with the bias and the activation.
std::unique_ptr<Layer> make_separable_conv2d(ConfigReader& reader);

std::unique_ptr<Layer> make_max_pooling2d(ConfigReader& reader);
std::unique_ptr<Layer> make_average_pooling2d(ConfigReader& reader);  // divides by the cells inside the image
std::unique_ptr<Layer> make_global_max_pooling2d(ConfigReader& reader);
std::unique_ptr<Layer> make_global_average_pooling2d(ConfigReader& reader);

// gamma, beta, moving_mean, moving_variance over the last axis. The moving variance follows Keras 3, biased
// everywhere (Keras 2 corrects it by n/(n−1) on images). A layer that is not trainable uses the moving
// statistics in training too.
std::unique_ptr<Layer> make_batch_normalization(ConfigReader& reader);

std::unique_ptr<Layer> make_dropout(ConfigReader& reader);  // y = x·mask/(1 − rate) in training, else x

std::unique_ptr<Layer> make_flatten(ConfigReader& reader);
std::unique_ptr<Layer> make_reshape(ConfigReader& reader);  // target_shape may hold one −1
std::unique_ptr<Layer> make_zero_padding2d(ConfigReader& reader);
std::unique_ptr<Layer> make_cropping2d(ConfigReader& reader);
std::unique_ptr<Layer> make_identity(ConfigReader& reader);

// Add, Multiply, Average, Maximum, Minimum of two or more inputs and Subtract of two; axes of size 1 are
// broadcast.
std::unique_ptr<Layer> make_merge(ConfigReader& reader);
std::unique_ptr<Layer> make_concatenate(ConfigReader& reader);

}  // namespace stoker::keras
