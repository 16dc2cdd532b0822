#include "lib/data/array_source.h"

#include <algorithm>
#include <limits>

#include "lib/base/error.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/data/file_digest.h"

namespace stoker::data {
namespace {

// Calls f(i, bytes of record indices[i]); the records come from memory where they are there.
template <typename F>
void for_each_record(const Records& records, std::span<const std::int64_t> indices, Scratch& scratch, F&& f) {
  const std::size_t size = records.info().record_bytes;
  if (const std::byte* all = records.memory()) {
    for (std::size_t i = 0; i < indices.size(); ++i) f(i, all + static_cast<std::size_t>(indices[i]) * size);
    return;
  }
  scratch.bytes.resize(indices.size() * size);
  records.read(indices, scratch.bytes.data(), scratch);
  for (std::size_t i = 0; i < indices.size(); ++i) f(i, scratch.bytes.data() + i * size);
}

void normalise(const Normalisation& by, std::int64_t elements, float* x) {
  const std::int64_t channels = static_cast<std::int64_t>(by.factor.size());
  if (channels == 1) {
    const double factor = by.factor[0], term = by.term[0];
    constexpr std::int64_t kBlock = 32;  // as in to_floats()
    std::int64_t i = 0;
    for (; i + kBlock <= elements; i += kBlock)
      for (std::int64_t k = 0; k < kBlock; ++k) x[i + k] = static_cast<float>(x[i + k] * factor + term);
    for (; i < elements; ++i) x[i] = static_cast<float>(x[i] * factor + term);
    return;
  }
  for (std::int64_t i = 0; i < elements; i += channels)
    for (std::int64_t c = 0; c < channels; ++c)
      x[i + c] = static_cast<float>(x[i + c] * by.factor[static_cast<std::size_t>(c)] +
                                    by.term[static_cast<std::size_t>(c)]);
}

std::string numbers_text(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += "/" + format_double(number);
  return text;
}

}  // namespace

Normalisation parse_normalisation(const DataSpec& spec, std::int64_t channels) {
  Normalisation result;
  if (!spec.get("scale") && !spec.get("offset") && !spec.get("mean") && !spec.get("std")) return result;
  const double scale = parse_fraction(spec, "scale", 1), offset = parse_fraction(spec, "offset", 0);
  std::vector<double> mean = parse_number_list(spec, "mean"), deviation = parse_number_list(spec, "std");
  if (mean.empty()) mean = {0};
  if (deviation.empty()) deviation = {1};
  for (const auto* list : {&mean, &deviation})
    if (list->size() != 1 && static_cast<std::int64_t>(list->size()) != channels)
      throw UserError("mean and std need one number, or one for each channel", spec.text,
                      "the last axis of a sample has " + std::to_string(channels));
  if (std::count(deviation.begin(), deviation.end(), 0.0) > 0)
    throw UserError("a std of 0 cannot be divided by", spec.text, "give the standard deviations of the data");
  const std::size_t count = std::max(mean.size(), deviation.size());
  for (std::size_t c = 0; c < count; ++c) {
    const double m = mean[mean.size() == 1 ? 0 : c], s = deviation[deviation.size() == 1 ? 0 : c];
    result.factor.push_back(scale / s);
    result.term.push_back((offset - m) / s);
  }
  return result;
}

ArraySource::ArraySource(const DataSpec& spec, Arrays arrays, std::uint64_t memory_bytes)
    : arrays_(std::move(arrays)) {
  description_.spec = spec.text;
  describe_x(spec);
  describe_y(spec);
  description_.digest = digest();
  if (arrays_.y) {
    arrays_.y = hold(std::move(arrays_.y), memory_bytes);
    memory_bytes -= std::min(memory_bytes, arrays_.y->info().bytes());
  }
  arrays_.x = hold(std::move(arrays_.x), memory_bytes);
}

void ArraySource::describe_x(const DataSpec& spec) {
  const ArrayInfo& info = arrays_.x->info();
  Shape shape = info.shape.rank() == 0 ? Shape{1} : info.shape;
  channels_first_ =
      parse_choice(spec, "layout", {"chw", "hwc"}, arrays_.channels_first ? "chw" : "hwc") == "chw";
  if (channels_first_) {
    if (shape.rank() != 3)
      throw UserError("layout=chw needs samples of (channels, height, width)", info.where,
                      "the samples are " + to_string(shape));
    channels_ = shape[0];
    pixels_ = shape[1] * shape[2];
    shape = Shape{shape[1], shape[2], shape[0]};
  }
  if (const auto dimensions = parse_dimensions(spec, "shape"); !dimensions.empty()) {
    std::int64_t left = shape.elements();  // divided by the dimensions in turn, so that no product overflows
    bool fits = true;
    for (const std::int64_t dimension : dimensions) {
      fits = fits && left % dimension == 0;
      left /= dimension;
    }
    if (!fits || left != 1)
      throw UserError("shape=" + *spec.get("shape") + " does not fit", info.where,
                      "the samples are " + to_string(shape));
    shape = Shape(dimensions);
  }
  normalisation_ = parse_normalisation(spec, shape.back());
  description_.x_shape = shape;
  description_.x_element = info.element;
  description_.samples = info.count;
  description_.advice = arrays_.advice;
  description_.text =
      std::to_string(info.count) + " samples " + to_string(shape) + " " + std::string(name_of(info.element));
}

void ArraySource::describe_y(const DataSpec& spec) {
  if (!arrays_.y) {
    description_.text += ", no labels";
    return;
  }
  const ArrayInfo& info = arrays_.y->info();
  if (info.count != description_.samples)
    throw UserError(
        "x has " + std::to_string(description_.samples) + " samples and y has " + std::to_string(info.count),
        spec.text, "give x and y of the same data, x first");
  const bool labels = is_integer(info.element) && info.record_elements == 1;
  description_.y_kind = labels ? TargetKind::labels : TargetKind::values;
  if (!labels) description_.y_shape = info.shape.rank() == 0 ? Shape{1} : info.shape;
  description_.y_element = info.element;
  description_.classes = arrays_.classes;
  description_.class_names = arrays_.class_names;
  description_.text += labels ? ", labels " : ", values " + to_string(description_.y_shape) + " ";
  description_.text += name_of(info.element);
  if (!arrays_.class_names.empty()) description_.text += ": " + join(arrays_.class_names, ", ");
}

std::string ArraySource::digest() const {
  Hash128 hash;
  for (const std::string& file : arrays_.files) hash.update(file_digest(file));
  std::string rest = "|" + arrays_.names + "|" + to_string(description_.x_shape) +
                     (channels_first_ ? "|chw|" : "|hwc|") + numbers_text(normalisation_.factor) + "|" +
                     numbers_text(normalisation_.term);
  for (const std::string& name : arrays_.class_names) rest += "|" + name;
  hash.update(rest);
  return hash.hex();
}

void ArraySource::read(std::span<const std::int64_t> indices, float* x, TargetBuffer y,
                       Scratch& scratch) const {
  if (x != nullptr) read_x(indices, x, scratch);
  if (y.labels != nullptr) read_labels(indices, y.labels, scratch);
  if (y.values != nullptr) read_values(indices, y.values, scratch);
}

void ArraySource::read_x(std::span<const std::int64_t> indices, float* x, Scratch& scratch) const {
  const Element element = arrays_.x->info().element;
  const std::int64_t elements = static_cast<std::int64_t>(arrays_.x->info().record_elements);
  if (channels_first_) scratch.floats.resize(static_cast<std::size_t>(elements));
  for_each_record(*arrays_.x, indices, scratch, [&](std::size_t i, const std::byte* record) {
    float* out = x + static_cast<std::int64_t>(i) * elements;
    if (channels_first_) {
      to_floats(element, record, elements, scratch.floats.data());
      for (std::int64_t c = 0; c < channels_; ++c)
        for (std::int64_t p = 0; p < pixels_; ++p)
          out[p * channels_ + c] = scratch.floats[static_cast<std::size_t>(c * pixels_ + p)];
    } else {
      to_floats(element, record, elements, out);
    }
    if (!normalisation_.is_identity()) normalise(normalisation_, elements, out);
  });
}

void ArraySource::read_labels(std::span<const std::int64_t> indices, std::int32_t* labels,
                              Scratch& scratch) const {
  const Element element = arrays_.y->info().element;
  for_each_record(*arrays_.y, indices, scratch, [&](std::size_t i, const std::byte* record) {
    const auto label = to_integer(element, record);
    using Limits = std::numeric_limits<std::int32_t>;
    if (!label || *label < Limits::min() || *label > Limits::max())
      throw UserError(
          "the label " + to_text(element, record) + (label ? " is out of range" : " is no whole number"),
          y_where(indices[i]), "give whole numbers from 0, or choose a loss for float targets");
    labels[i] = static_cast<std::int32_t>(*label);
  });
}

void ArraySource::read_values(std::span<const std::int64_t> indices, float* values, Scratch& scratch) const {
  const Element element = arrays_.y->info().element;
  const std::int64_t elements = static_cast<std::int64_t>(arrays_.y->info().record_elements);
  for_each_record(*arrays_.y, indices, scratch, [&](std::size_t i, const std::byte* record) {
    to_floats(element, record, elements, values + static_cast<std::int64_t>(i) * elements);
  });
}

std::string ArraySource::y_where(std::int64_t index) const {
  return (arrays_.y ? arrays_.y->info().where : description_.spec) + ", sample " + std::to_string(index);
}

}  // namespace stoker::data
