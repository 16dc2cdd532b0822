#include "lib/data/file_digest.h"

#include <algorithm>
#include <vector>

#include "lib/base/hash.h"
#include "lib/data/byte_stream.h"

namespace stoker::data {
namespace {

constexpr std::uint64_t kWholeBytes = std::uint64_t{64} << 20;
constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kPieces = 1024;

}  // namespace

std::string file_digest(const std::string& path) {
  const auto file = DataFile::open(path);
  const std::uint64_t size = file->size();
  Hash128 hash;
  hash.update_u64(size);
  std::vector<char> buffer(kPieceBytes);
  const auto add = [&](std::uint64_t offset) {
    const std::size_t bytes = static_cast<std::size_t>(std::min(kPieceBytes, size - offset));
    file->read_at(offset, buffer.data(), bytes);
    hash.update(buffer.data(), bytes);
  };
  if (size <= kWholeBytes) {
    for (std::uint64_t offset = 0; offset < size; offset += kPieceBytes) add(offset);
    return hash.hex();
  }
  const std::uint64_t last = size - kPieceBytes;
  for (std::uint64_t i = 0; i < kPieces; ++i)
    add(last / (kPieces - 1) * i + last % (kPieces - 1) * i / (kPieces - 1));
  return hash.hex();
}

}  // namespace stoker::data
