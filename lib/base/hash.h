// Checksums and digests. All functions are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace stoker {

// XXH3, 64 bits: checksums of checkpoint slices and the comparison of parameters across ranks.
std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed = 0);

// The same value as hash64 (seed 0), fed in pieces.
class Hash64 {
 public:
  Hash64();
  ~Hash64();
  Hash64(Hash64&&) noexcept;
  Hash64& operator=(Hash64&&) noexcept;
  void update(const void* data, std::size_t bytes);
  std::uint64_t value() const;  // more may be fed afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// XXH3, 128 bits, fed in pieces: digests of models and data.
class Hash128 {
 public:
  Hash128();
  ~Hash128();
  Hash128(Hash128&&) noexcept;
  Hash128& operator=(Hash128&&) noexcept;
  void update(const void* data, std::size_t bytes);
  void update(std::string_view text) { update(text.data(), text.size()); }
  void update_u64(std::uint64_t value);  // little-endian
  std::string hex() const;               // 32 digits; more may be fed afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// CRC-32C (Castagnoli, polynomial 0x1EDC6F41 reflected), as TFRecord and TensorBoard frames use it, unmasked.
std::uint32_t crc32c(const void* data, std::size_t bytes);

// The mask that TFRecord puts over a CRC: ((c >> 15) | (c << 17)) + 0xa282ead8.
std::uint32_t masked_crc32c(const void* data, std::size_t bytes);

}  // namespace stoker
