#include "lib/data/source.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/base/error.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/data/array_source.h"
#include "lib/data/formats.h"
#include "lib/data/memory_limit.h"

namespace stoker::data {
namespace {

constexpr std::string_view kCommonKeys[] = {"rows", "layout", "shape", "scale", "offset", "mean", "std"};

constexpr std::int64_t kCheckedAtOnce = 1 << 16;

// The samples [begin, end) of another source.
class SliceSource : public Source {
 public:
  SliceSource(std::shared_ptr<const Source> base, std::int64_t begin, std::int64_t end)
      : base_(std::move(base)), begin_(begin), description_(base_->description()) {
    description_.samples = end - begin;
    Hash128 hash;
    hash.update(description_.digest);
    hash.update_u64(static_cast<std::uint64_t>(begin));
    hash.update_u64(static_cast<std::uint64_t>(end));
    description_.digest = hash.hex();
    description_.text =
        "samples " + std::to_string(begin) + "-" + std::to_string(end - 1) + " of " + description_.text;
  }

  const Description& description() const override { return description_; }
  void read(std::span<const std::int64_t> indices, float* x, TargetBuffer y,
            Scratch& scratch) const override {
    scratch.rows.resize(indices.size());
    std::transform(indices.begin(), indices.end(), scratch.rows.begin(),
                   [&](std::int64_t i) { return i + begin_; });
    base_->read(scratch.rows, x, y, scratch);
  }
  std::string y_where(std::int64_t index) const override { return base_->y_where(index + begin_); }

  const std::shared_ptr<const Source>& base() const { return base_; }
  std::int64_t begin() const { return begin_; }

 private:
  std::shared_ptr<const Source> base_;
  std::int64_t begin_;
  Description description_;
};

// rows=A-B, B included; rows=A- to the end.
std::unique_ptr<Source> choose_rows(const DataSpec& spec, std::unique_ptr<Source> source) {
  const auto text = spec.get("rows");
  if (!text) return source;
  const std::int64_t samples = source->description().samples;
  const std::size_t dash = text->find('-');
  const auto first = parse_int(std::string_view(*text).substr(0, dash));
  std::optional<std::int64_t> last;
  if (dash != std::string::npos && dash + 1 == text->size()) last = samples - 1;
  if (dash != std::string::npos && dash + 1 < text->size())
    last = parse_int(std::string_view(*text).substr(dash + 1));
  if (!first || !last || *first < 0 || *first > *last || *last >= samples)
    throw UserError("rows=" + *text + " does not fit", spec.text,
                    "give rows=FIRST-LAST within 0-" + std::to_string(samples - 1));
  return slice(std::move(source), *first, *last + 1);
}

// Calls f(first, indices) over all samples, `at_once` a call.
template <typename F>
void in_pieces(std::int64_t samples, std::int64_t at_once, F&& f) {
  std::vector<std::int64_t> indices;
  for (std::int64_t first = 0; first < samples; first += at_once) {
    indices.resize(static_cast<std::size_t>(std::min(at_once, samples - first)));
    std::iota(indices.begin(), indices.end(), first);
    f(first, indices);
  }
}

void require_y(const Source& source) {
  if (source.description().y_kind == TargetKind::none)
    throw UserError("the data have no labels", source.description().spec,
                    "give y as well: KIND:X,Y or ?y=NAME");
}

}  // namespace

std::unique_ptr<Source> open_source(std::string_view text, const OpenOptions& given) {
  OpenOptions options = given;
  if (options.memory_bytes == 0) options.memory_bytes = memory_limit() / 4;
  DataSpec spec = parse_data_spec(text, kinds());
  if (spec.kind.empty()) spec.kind = kind_of(spec.paths[0]);
  for (const Format& format : formats()) {
    if (format.kind != spec.kind) continue;
    check_keys(spec, kCommonKeys, format.keys);
    Arrays arrays = format.open(spec, options);
    return choose_rows(spec, std::make_unique<ArraySource>(spec, std::move(arrays), options.memory_bytes));
  }
  throw UserError("unknown kind of data '" + spec.kind + "'", text, "see stoker help train");
}

std::vector<std::string> paths_of(std::string_view text) { return parse_data_spec(text, kinds()).paths; }

std::unique_ptr<Source> slice(std::shared_ptr<const Source> source, std::int64_t begin, std::int64_t end) {
  // A slice of a slice reads the first source: one shift of the indices is enough.
  if (const auto* inner = dynamic_cast<const SliceSource*>(source.get())) {
    const std::int64_t shift = inner->begin();
    return std::make_unique<SliceSource>(inner->base(), begin + shift, end + shift);
  }
  return std::make_unique<SliceSource>(std::move(source), begin, end);
}

std::int64_t check_labels(const Source& source, std::int64_t classes) {
  require_y(source);
  const Description& about = source.description();
  if (about.y_shape.elements() != 1)
    throw UserError("labels are wanted, one a sample; y has the shape " + to_string(about.y_shape),
                    about.spec, "choose a loss for such targets, e.g. categorical_crossentropy");
  std::int64_t largest = -1;
  std::vector<std::int32_t> labels(static_cast<std::size_t>(std::min(kCheckedAtOnce, about.samples)));
  Scratch scratch;
  in_pieces(about.samples, kCheckedAtOnce, [&](std::int64_t first, std::span<const std::int64_t> indices) {
    source.read(indices, nullptr, {labels.data(), nullptr}, scratch);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (labels[i] < 0 || (classes > 0 && labels[i] >= classes))
        throw UserError("the label " + std::to_string(labels[i]) + " is out of range",
                        source.y_where(first + static_cast<std::int64_t>(i)),
                        classes > 0 ? "the model has " + std::to_string(classes) +
                                          " classes: labels are 0 to " + std::to_string(classes - 1)
                                    : "labels count from 0");
      largest = std::max<std::int64_t>(largest, labels[i]);
    }
  });
  return largest + 1;
}

void check_targets_finite(const Source& source) {
  require_y(source);
  const Description& about = source.description();
  const std::int64_t width = about.y_shape.elements();
  const std::int64_t at_once = std::max<std::int64_t>(1, kCheckedAtOnce / width);
  std::vector<float> values;
  Scratch scratch;
  in_pieces(about.samples, at_once, [&](std::int64_t first, std::span<const std::int64_t> indices) {
    values.resize(indices.size() * static_cast<std::size_t>(width));
    source.read(indices, nullptr, {nullptr, values.data()}, scratch);
    const auto bad =
        std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
    if (bad != values.end())
      throw UserError("a target is not finite: " + format_double(*bad),
                      source.y_where(first + (bad - values.begin()) / width), "mend or remove the sample");
  });
}

}  // namespace stoker::data
