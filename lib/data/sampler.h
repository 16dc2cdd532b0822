// The order of an epoch: a pure function of (seed, epoch, number of samples), evaluated position by position
// in O(1) memory. So every rank finds its samples without a message, and (epoch, position) is the whole state
// of a run's input.
//
// A Feistel network over the bits of a position, with Philox as its round function, is a keyed bijection on
// [0, 2^b); walking its cycles until they come back below n makes it one on [0, n) (Black, Rogaway: "Ciphers
// with arbitrary finite domains", CT-RSA 2002). 2^b < 2n, so that takes fewer than two evaluations on
// average.
#pragma once

#include <cstdint>
#include <span>

namespace stoker::data {

struct SamplerState {
  std::int64_t epoch = 0;     // from 0
  std::int64_t position = 0;  // samples of this epoch that are done
  bool operator==(const SamplerState&) const = default;
};

// Immutable, hence thread-safe.
class Sampler {
 public:
  // Without shuffling every epoch's order is 0, 1, 2, … Requires samples ≥ 1.
  Sampler(std::int64_t samples, std::uint64_t seed, bool shuffle);

  std::int64_t samples() const { return samples_; }

  // ceil(samples / batch): the last batch is the smaller one.
  std::int64_t steps_per_epoch(std::int64_t batch) const { return (samples_ - 1) / batch + 1; }

  // The samples at positions [position, position + out.size()) of the epoch; all below samples().
  void indices(std::int64_t epoch, std::int64_t position, std::span<std::int64_t> out) const;

 private:
  std::int64_t samples_;
  std::uint64_t key_;
  bool shuffle_;
  int left_bits_, right_bits_;
};

}  // namespace stoker::data
