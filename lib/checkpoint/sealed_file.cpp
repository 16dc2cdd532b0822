#include "lib/checkpoint/sealed_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/handle.h"
#include "lib/base/hash.h"
#include "lib/checkpoint/layout.h"

namespace stoker::checkpoint {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr char kDamaged[] = "it is damaged; take another checkpoint";

std::string head_of(const Seal& seal) {
  return fmt::format(
      "stoker checkpoint {}\nversion {}\nstep {}\nattempt {:016x}\nsave {}\nrank {}\nranks {}\nbytes {}\n",
      seal.kind, kFormatVersion, seal.step, seal.attempt, seal.save, seal.rank, seal.ranks, seal.bytes);
}

std::string block_of(const Seal& seal) {
  std::string block = head_of(seal) + "xxh3-128 " + seal.digest + "\n";
  block.resize(kSealBytes, '\0');
  return block;
}

std::uint64_t file_bytes(int fd, const std::string& path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) throw_errno("fstat", path);
  return static_cast<std::uint64_t>(st.st_size);
}

std::string digest_of(int fd, const std::string& path, const Seal& seal) {
  Hash128 hash;
  hash.update(head_of(seal));
  std::vector<char> piece(std::min<std::uint64_t>(kPieceBytes, seal.bytes));
  for (std::uint64_t at = kSealBytes; at < seal.bytes; at += piece.size()) {
    const std::size_t bytes = std::min<std::uint64_t>(piece.size(), seal.bytes - at);
    read_at(fd, path, piece.data(), bytes, at);
    hash.update(piece.data(), bytes);
  }
  return hash.hex();
}

// The value of the next line, which must be `name VALUE`; empty when it is not.
std::string_view take_line(std::string_view& text, std::string_view name) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line.starts_with(name) ? line.substr(name.size()) : std::string_view();
}

template <typename T>
bool take_value(std::string_view& text, std::string_view name, T& value, int base = 10) {
  const std::string_view digits = take_line(text, name);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return error == std::errc() && end == digits.data() + digits.size();
}

// Takes the room that the file will need now, so that a full disk is found before gigabytes have been
// written. File systems that cannot are left alone.
void reserve(int fd, const std::string& path, std::uint64_t bytes) {
  if (::fallocate(fd, 0, 0, static_cast<off_t>(bytes)) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw_errno("fallocate", path);
}

FileDescriptor open_for_reading(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd && errno == ENOENT) throw UserError("the file is missing", path, "take another checkpoint");
  if (!fd) throw UserError("cannot read the file", path, std::strerror(errno));
  return fd;
}

}  // namespace

void read_at(int fd, const std::string& path, void* data, std::size_t bytes, std::uint64_t offset) {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd, to, std::min(bytes, kPieceBytes), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("pread", path);
    if (n == 0) throw UserError("the file ends too early", path, kDamaged);
    to += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

void write_sealed(const std::string& path, std::span<std::byte> image, Seal& seal) {
  seal.bytes = image.size();
  Hash128 hash;
  hash.update(head_of(seal));
  hash.update(image.data() + kSealBytes, image.size() - kSealBytes);
  seal.digest = hash.hex();
  const std::string block = block_of(seal);
  std::memcpy(image.data(), block.data(), block.size());

  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd) throw_errno("open", path);
  reserve(fd.get(), path, image.size());
  for (std::size_t at = 0; at < image.size(); at += kPieceBytes)
    if (!write_all(fd.get(), image.data() + at, std::min(kPieceBytes, image.size() - at)))
      throw_errno("write", path);
  if (::fsync(fd.get()) != 0) throw_errno("fsync", path);
  if (::close(fd.release()) != 0) throw_errno("close", path);
}

Seal read_seal(const std::string& path) {
  const FileDescriptor fd = open_for_reading(path);
  const std::uint64_t bytes = file_bytes(fd.get(), path);
  if (bytes < kSealBytes) throw UserError("the file is truncated", path, kDamaged);
  std::string block(kSealBytes, '\0');
  read_at(fd.get(), path, block.data(), block.size(), 0);
  std::string_view text = block;
  Seal seal;
  int version = 0;
  seal.kind = take_line(text, "stoker checkpoint ");
  if (seal.kind.empty()) throw UserError("not a file of a checkpoint", path, kDamaged);
  if (!take_value(text, "version ", version)) throw UserError("the seal is damaged", path, kDamaged);
  if (version != kFormatVersion)
    throw UserError(fmt::format("checkpoint format {}; this program knows {}", version, kFormatVersion), path,
                    "use the version of stoker that wrote it");
  const bool whole = take_value(text, "step ", seal.step) && take_value(text, "attempt ", seal.attempt, 16) &&
                     take_value(text, "save ", seal.save) && take_value(text, "rank ", seal.rank) &&
                     take_value(text, "ranks ", seal.ranks) && take_value(text, "bytes ", seal.bytes);
  seal.digest = take_line(text, "xxh3-128 ");
  if (!whole || block_of(seal) != block) throw UserError("the seal is damaged", path, kDamaged);
  if (bytes != seal.bytes)
    throw UserError(fmt::format("the file has {} bytes instead of {}", bytes, seal.bytes), path, kDamaged);
  return seal;
}

void verify_seal(const std::string& path, const Seal& seal) {
  const FileDescriptor fd = open_for_reading(path);
  if (digest_of(fd.get(), path, seal) != seal.digest)
    throw UserError("the content has changed since it was written (digest)", path, kDamaged);
}

}  // namespace stoker::checkpoint
