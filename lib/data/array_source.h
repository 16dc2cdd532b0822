// A source made of two arrays, x and y, with what all formats share: another layout or shape of x, its
// normalisation, and labels or values out of y.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/data/data_spec.h"
#include "lib/data/formats.h"
#include "lib/data/source.h"

namespace stoker::data {

// x·factor + term for each channel (the last axis), in double and rounded once to fp32.
struct Normalisation {
  std::vector<double> factor, term;  // one each, or one for each channel; empty: x as it is
  bool is_identity() const { return factor.empty(); }
};

// From the keys scale, offset, mean and std. Throws UserError for lists of other lengths than 1 or
// `channels`, and a std of 0.
Normalisation parse_normalisation(const DataSpec& spec, std::int64_t channels);

class ArraySource : public Source {
 public:
  // Throws UserError when x and y differ in length or a common key does not suit x. Holds in memory what
  // `memory_bytes` allows.
  ArraySource(const DataSpec& spec, Arrays arrays, std::uint64_t memory_bytes);

  const Description& description() const override { return description_; }
  void read(std::span<const std::int64_t> indices, float* x, TargetBuffer y, Scratch& scratch) const override;
  std::string y_where(std::int64_t index) const override;

 private:
  void describe_x(const DataSpec& spec);
  void describe_y(const DataSpec& spec);
  void read_x(std::span<const std::int64_t> indices, float* x, Scratch& scratch) const;
  void read_labels(std::span<const std::int64_t> indices, std::int32_t* labels, Scratch& scratch) const;
  void read_values(std::span<const std::int64_t> indices, float* values, Scratch& scratch) const;
  std::string digest() const;

  Arrays arrays_;
  bool channels_first_ = false;
  std::int64_t channels_ = 1, pixels_ = 1;  // when channels_first_: of the stored record
  Normalisation normalisation_;
  Description description_;
};

}  // namespace stoker::data
