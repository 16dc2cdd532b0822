// The built-in architectures, each a function that adds its layers to a writer, from the input to the layer
// before the classifier, which builtin_models.cpp adds (a Dense with softmax).
//
// None scales its input: all expect numbers of about unit size. For images of bytes give the data's key
// scale=1/255 (for the digits 1/16), or mean and std.
#pragma once

#include <span>

#include "lib/keras/layers/builtin_writer.h"

namespace stoker::keras {

using Tensor = BuiltinWriter::Tensor;

// Two hidden layers of 128, ReLU.
Tensor add_mlp(BuiltinWriter& writer, Tensor x);

// LeCun, Bottou, Bengio, Haffner 1998, with its tanh and average pooling; the first convolution is padded, so
// that 28×28 images are what the paper's 32×32 are. At least 12×12.
Tensor add_lenet5(BuiltinWriter& writer, Tensor x);

// The convolutional network of Keras' introduction to MNIST with a hidden layer of 128: 3×3×32, pool, 3×3×64,
// pool. At least 10×10.
Tensor add_convnet(BuiltinWriter& writer, Tensor x);

// Twice two 3×3 convolutions with batch normalisation and a pool; dropout. At least 4×4.
Tensor add_convnet_bn(BuiltinWriter& writer, Tensor x);

// Simonyan and Zisserman 2014: `convolutions` of 3×3 in each of the five blocks (vgg16 as
// keras.applications.VGG16, layer by layer). At least 32×32.
Tensor add_vgg(BuiltinWriter& writer, Tensor x, std::span<const int> convolutions);

// He, Zhang, Ren, Sun 2015, two 3×3 convolutions a block: resnet18 and resnet34. Images below 64×64 get a 3×3
// convolution instead of the 7×7 one with stride 2 and the pool, as is usual for CIFAR.
Tensor add_basic_resnet(BuiltinWriter& writer, Tensor x, std::span<const int> blocks);

// Bottleneck blocks: resnet50 and resnet101, as keras.applications.ResNet50 and ResNet101, layer by layer.
Tensor add_bottleneck_resnet(BuiltinWriter& writer, Tensor x, std::span<const int> blocks);

// Sandler et al. 2018, as keras.applications.MobileNetV2(alpha=1), layer by layer.
Tensor add_mobilenetv2(BuiltinWriter& writer, Tensor x);

}  // namespace stoker::keras
