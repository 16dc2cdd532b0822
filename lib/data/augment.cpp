#include "lib/data/augment.h"

#include <algorithm>
#include <cstring>

#include "lib/base/error.h"
#include "lib/base/philox.h"
#include "lib/base/text.h"

namespace stoker::data {
namespace {

constexpr std::uint64_t kAugmentPurpose = 0x4175676D656E74;
constexpr std::int64_t kLargestCrop = 1 << 16;

// A whole number in [0, bound), from 32 random bits; biased by less than bound/2^32.
std::int64_t below(std::uint32_t bits, std::int64_t bound) {
  return static_cast<std::int64_t>((std::uint64_t{bits} * static_cast<std::uint64_t>(bound)) >> 32);
}

}  // namespace

Augmentation parse_augmentation(std::string_view text) {
  Augmentation result;
  if (trim(text).empty() || trim(text) == "none") return result;
  for (const std::string& part : split(text, ',')) {
    const std::string_view word = trim(part);
    if (word == "flip") {
      result.flip = true;
    } else if (word == "vflip") {
      result.vertical_flip = true;
    } else if (word.starts_with("crop=")) {
      const auto pixels = parse_int(word.substr(5));
      if (!pixels || *pixels < 1 || *pixels > kLargestCrop)
        throw UserError("not a number of pixels", "--augment " + std::string(word), "write crop=4");
      result.crop = *pixels;
    } else {
      throw UserError("unknown augmentation '" + std::string(word) + "'", "--augment " + std::string(text),
                      "known are flip, vflip and crop=PIXELS");
    }
  }
  return result;
}

std::string to_text(const Augmentation& augmentation) {
  std::vector<std::string> parts;
  if (augmentation.flip) parts.push_back("flip");
  if (augmentation.vertical_flip) parts.push_back("vflip");
  if (augmentation.crop > 0) parts.push_back("crop=" + std::to_string(augmentation.crop));
  return parts.empty() ? "none" : join(parts, ",");
}

Augmenter::Augmenter(const Augmentation& augmentation, const Shape& x_shape, std::uint64_t seed)
    : augmentation_(augmentation), seed_(mix_key(seed, kAugmentPurpose)) {
  if (augmentation.none()) return;
  if (x_shape.rank() != 2 && x_shape.rank() != 3)
    throw UserError("the data are no images",
                    "--augment " + to_text(augmentation) + ", sample shape " + to_string(x_shape),
                    "leave --augment off, or give shape=HEIGHTxWIDTHxCHANNELS with the data");
  height_ = x_shape[0];
  width_ = x_shape[1];
  if (x_shape.rank() == 3) channels_ = x_shape[2];
}

void Augmenter::apply(std::int64_t epoch, std::int64_t sample, float* x, std::vector<float>& scratch) const {
  if (augmentation_.none()) return;
  const Philox4 random = philox(seed_, static_cast<std::uint64_t>(epoch), static_cast<std::uint64_t>(sample));
  const bool flip = augmentation_.flip && (random.v[0] & 1) != 0;
  const bool vertical_flip = augmentation_.vertical_flip && (random.v[1] & 1) != 0;
  // The window's corner in the image, in [-crop, crop]; what lies outside is zero.
  const std::int64_t top = below(random.v[2], 2 * augmentation_.crop + 1) - augmentation_.crop;
  const std::int64_t left = below(random.v[3], 2 * augmentation_.crop + 1) - augmentation_.crop;
  if (!flip && !vertical_flip && top == 0 && left == 0) return;

  const std::int64_t row_floats = width_ * channels_;
  scratch.assign(x, x + height_ * row_floats);
  for (std::int64_t row = 0; row < height_; ++row) {
    float* out = x + row * row_floats;
    std::int64_t from_row = row + top;
    if (from_row < 0 || from_row >= height_) {
      std::fill(out, out + row_floats, 0.0f);
      continue;
    }
    if (vertical_flip) from_row = height_ - 1 - from_row;
    const float* in = scratch.data() + from_row * row_floats;
    // Columns [first, end) of the window lie in the image.
    const std::int64_t first = std::clamp<std::int64_t>(-left, 0, width_);
    const std::int64_t end = std::clamp<std::int64_t>(width_ - left, first, width_);
    std::fill(out, out + first * channels_, 0.0f);
    std::fill(out + end * channels_, out + row_floats, 0.0f);
    if (!flip) {
      std::copy(in + (first + left) * channels_, in + (end + left) * channels_, out + first * channels_);
      continue;
    }
    for (std::int64_t column = first; column < end; ++column)
      for (std::int64_t c = 0; c < channels_; ++c)
        out[column * channels_ + c] = in[(width_ - 1 - column - left) * channels_ + c];
  }
}

}  // namespace stoker::data
