// Class names as Keras turns them into layer names and into the groups of .keras weight files.
#pragma once

#include <string>
#include <string_view>

namespace stoker::keras {

// "Conv2D" → "conv2d", "MaxPooling2D" → "max_pooling2d", "ReLU" → "re_lu" (keras/src/utils/naming.py,
// to_snake_case: '_' before a capital that small letters follow, and between a small letter and a capital).
std::string snake_case(std::string_view class_name);

}  // namespace stoker::keras
