#include "lib/keras/layers/image_window.h"

#include <algorithm>
#include <utility>

namespace stoker::keras {

namespace {

std::int64_t effective(std::int64_t size, std::int64_t dilation) { return (size - 1) * dilation + 1; }

std::int64_t cells(std::int64_t n, std::int64_t size, std::int64_t stride, bool same) {
  return same ? (n + stride - 1) / stride : n < size ? 0 : (n - size) / stride + 1;
}

// Before and after.
std::pair<std::int64_t, std::int64_t> same_padding(std::int64_t n, std::int64_t size, std::int64_t stride) {
  const std::int64_t total =
      std::max<std::int64_t>(0, (cells(n, size, stride, true) - 1) * stride + size - n);
  return {total / 2, total - total / 2};
}

}  // namespace

graph::Padding2D ImageWindow::padding(const Shape& image) const {
  if (!same) return {};
  const auto [top, bottom] = same_padding(image[0], effective(size.h, dilation.h), stride.h);
  const auto [left, right] = same_padding(image[1], effective(size.w, dilation.w), stride.w);
  return {top, bottom, left, right};
}

Pair ImageWindow::output(const Shape& image) const {
  return {cells(image[0], effective(size.h, dilation.h), stride.h, same),
          cells(image[1], effective(size.w, dilation.w), stride.w, same)};
}

ImageWindow read_window(ConfigReader& reader, const char* size_key, std::optional<Pair> stride,
                        bool dilated) {
  ImageWindow window;
  window.size = reader.pair(size_key);
  window.stride = reader.pair("strides", stride.value_or(window.size));
  if (dilated) window.dilation = reader.pair("dilation_rate", Pair{1, 1});
  const std::string padding = reader.text("padding", "valid");
  if (padding != "same" && padding != "valid") reader.refuse("padding", padding, "use same or valid");
  window.same = padding == "same";
  const bool strided = window.stride.h > 1 || window.stride.w > 1;
  if (strided && (window.dilation.h > 1 || window.dilation.w > 1)) {
    reader.refuse("dilation_rate", pair_config(window.dilation), "Keras has it with strides of 1 only");
  }
  return window;
}

nlohmann::json pair_config(const Pair& pair) { return nlohmann::json::array({pair.h, pair.w}); }

}  // namespace stoker::keras
