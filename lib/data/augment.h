// Random changes of images as they are read (--augment). What happens to a sample is a pure function of
// (seed, epoch, sample's index): the same on any number of ranks and threads.
//
//   flip      mirrored left to right with probability 1/2
//   vflip     mirrored top to bottom with probability 1/2
//   crop=P    P rows and columns of zeros on each side, then a window of the old size at a random place
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tensor/shape.h"

namespace stoker::data {

struct Augmentation {
  bool flip = false;
  bool vertical_flip = false;
  std::int64_t crop = 0;  // pixels of padding; 0: no crop
  bool none() const { return !flip && !vertical_flip && crop == 0; }
  bool operator==(const Augmentation&) const = default;
};

// "flip,vflip,crop=4" in any order; "" and "none" are no augmentation. Throws UserError.
Augmentation parse_augmentation(std::string_view text);
// The text that parses to it, "none" for none.
std::string to_text(const Augmentation& augmentation);

// Applies an augmentation to fp32 images of one shape. Immutable, hence thread-safe.
class Augmenter {
 public:
  // x_shape is (height, width) or (height, width, channels). Throws UserError for other shapes, unless there
  // is nothing to do.
  Augmenter(const Augmentation& augmentation, const Shape& x_shape, std::uint64_t seed);

  // Changes the image at `x` in place. `scratch` grows to one image.
  void apply(std::int64_t epoch, std::int64_t sample, float* x, std::vector<float>& scratch) const;

 private:
  Augmentation augmentation_;
  std::int64_t height_ = 0, width_ = 0, channels_ = 1;
  std::uint64_t seed_;
};

}  // namespace stoker::data
