// Windows that slide over images: kernel sizes, strides and padding of convolutions and poolings.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "lib/graph/op.h"
#include "lib/keras/layers/config_reader.h"
#include "lib/tensor/shape.h"

namespace stoker::keras {

struct ImageWindow {
  Pair size, stride, dilation;
  bool same = false;  // else "valid": the window stays inside the image

  // "same": the output has ⌈n / stride⌉ cells; the padding is (⌈n/s⌉ − 1)·s + k_eff − n in all, k_eff =
  // (k − 1)·dilation + 1, half of it before, rounded down, and the rest after.
  graph::Padding2D padding(const Shape& image) const;  // image is (h, w, c)

  // Cells of the output; ≤ 0 if a "valid" window does not fit.
  Pair output(const Shape& image) const;

  nlohmann::json padding_name() const { return same ? "same" : "valid"; }
};

// Reads `size_key`, "strides" (its default is `stride`, or the window's size where that is absent), "padding"
// and, if `dilated`, "dilation_rate".
ImageWindow read_window(ConfigReader& reader, const char* size_key, std::optional<Pair> stride, bool dilated);

nlohmann::json pair_config(const Pair& pair);  // [h, w]

}  // namespace stoker::keras
