#include "lib/base/hash.h"

#include <xxhash.h>

#include <array>
#include <cstdio>
#include <new>

namespace stoker {

std::uint64_t hash64(const void* data, std::size_t bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

namespace {

// Owns XXH3's streaming state, which the 64-bit and the 128-bit hash share.
struct XxhState {
  XXH3_state_t* xxh = XXH3_createState();
  XxhState() {
    if (xxh == nullptr) throw std::bad_alloc();
  }
  ~XxhState() { XXH3_freeState(xxh); }
  XxhState(const XxhState&) = delete;
  XxhState& operator=(const XxhState&) = delete;
};

}  // namespace

struct Hash64::State : XxhState {
  State() { XXH3_64bits_reset(xxh); }
};

Hash64::Hash64() : state_(std::make_unique<State>()) {}
Hash64::~Hash64() = default;
Hash64::Hash64(Hash64&&) noexcept = default;
Hash64& Hash64::operator=(Hash64&&) noexcept = default;
void Hash64::update(const void* data, std::size_t bytes) { XXH3_64bits_update(state_->xxh, data, bytes); }
std::uint64_t Hash64::value() const { return XXH3_64bits_digest(state_->xxh); }

struct Hash128::State : XxhState {
  State() { XXH3_128bits_reset(xxh); }
};

Hash128::Hash128() : state_(std::make_unique<State>()) {}
Hash128::~Hash128() = default;
Hash128::Hash128(Hash128&&) noexcept = default;
Hash128& Hash128::operator=(Hash128&&) noexcept = default;

void Hash128::update(const void* data, std::size_t bytes) { XXH3_128bits_update(state_->xxh, data, bytes); }

void Hash128::update_u64(std::uint64_t value) {
  unsigned char bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<unsigned char>(value >> (8 * i));
  update(bytes, sizeof bytes);
}

std::string Hash128::hex() const {
  const XXH128_hash_t h = XXH3_128bits_digest(state_->xxh);
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(h.high64),
                static_cast<unsigned long long>(h.low64));
  return text;
}

namespace {
// Eight tables: "slicing by 8", eight bytes a step.
using CrcTables = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr CrcTables make_crc_tables() {
  CrcTables t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int k = 0; k < 8; ++k) c = (c & 1) ? (c >> 1) ^ 0x82F63B78u : c >> 1;
    t[0][i] = c;
  }
  for (std::uint32_t i = 0; i < 256; ++i)
    for (std::size_t k = 1; k < 8; ++k) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xFF];
  return t;
}
constexpr CrcTables kCrc = make_crc_tables();
}  // namespace

std::uint32_t crc32c(const void* data, std::size_t bytes) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint32_t c = 0xFFFFFFFFu;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    c ^= static_cast<std::uint32_t>(p[0]) | static_cast<std::uint32_t>(p[1]) << 8 |
         static_cast<std::uint32_t>(p[2]) << 16 | static_cast<std::uint32_t>(p[3]) << 24;
    c = kCrc[7][c & 0xFF] ^ kCrc[6][(c >> 8) & 0xFF] ^ kCrc[5][(c >> 16) & 0xFF] ^ kCrc[4][c >> 24] ^
        kCrc[3][p[4]] ^ kCrc[2][p[5]] ^ kCrc[1][p[6]] ^ kCrc[0][p[7]];
  }
  for (; bytes > 0; --bytes, ++p) c = (c >> 8) ^ kCrc[0][(c ^ *p) & 0xFF];
  return ~c;
}

std::uint32_t masked_crc32c(const void* data, std::size_t bytes) {
  const std::uint32_t c = crc32c(data, bytes);
  return ((c >> 15) | (c << 17)) + 0xa282ead8u;
}

}  // namespace stoker
