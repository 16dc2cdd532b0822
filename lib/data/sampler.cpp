#include "lib/data/sampler.h"

#include <bit>

#include "lib/base/philox.h"

namespace stoker::data {
namespace {

constexpr std::uint64_t kShufflePurpose =
    0x53687566666C65;  // keeps these numbers apart from others of the same seed

// Few bits mix slowly: with so many rounds even the orders of five samples are equally frequent
// (sampler_test).
constexpr int kFewBits = 8;
constexpr std::uint64_t kRoundsOfFewBits = 48, kRounds = 10, kMostRounds = 64;

std::uint64_t low_bits(std::uint64_t value, int bits) { return value & ((std::uint64_t{1} << bits) - 1); }

// Random bits for one round, a function of the other half.
std::uint64_t round_bits(std::uint64_t key, std::uint64_t epoch, std::uint64_t round, std::uint64_t half) {
  const Philox4 random = philox(key, epoch * kMostRounds + round, half);
  return (std::uint64_t{random.v[1]} << 32) | random.v[0];
}

}  // namespace

Sampler::Sampler(std::int64_t samples, std::uint64_t seed, bool shuffle)
    : samples_(samples), key_(mix_key(seed, kShufflePurpose)), shuffle_(shuffle) {
  const int bits = std::bit_width(static_cast<std::uint64_t>(samples) - 1);
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

void Sampler::indices(std::int64_t epoch, std::int64_t position, std::span<std::int64_t> out) const {
  const std::uint64_t rounds = left_bits_ + right_bits_ <= kFewBits ? kRoundsOfFewBits : kRounds;
  const auto permuted = [&](std::uint64_t value) {
    std::uint64_t left = value >> right_bits_, right = low_bits(value, right_bits_);
    for (std::uint64_t round = 0; round < rounds; round += 2) {
      left ^= low_bits(round_bits(key_, static_cast<std::uint64_t>(epoch), round, right), left_bits_);
      right ^= low_bits(round_bits(key_, static_cast<std::uint64_t>(epoch), round + 1, left), right_bits_);
    }
    return left << right_bits_ | right;
  };
  for (std::int64_t& index : out) {
    std::uint64_t value = static_cast<std::uint64_t>(position++);
    if (shuffle_ && samples_ > 1) do
        value = permuted(value);
      while (value >= static_cast<std::uint64_t>(samples_));
    index = static_cast<std::int64_t>(value);
  }
}

}  // namespace stoker::data
