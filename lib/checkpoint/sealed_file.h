// A file whose every byte is covered by a checksum that it carries itself.
//
// The first 512 bytes are text, "the seal", padded with zeros: what kind of file it is, which save it belongs
// to, its size, and the XXH3-128 digest of the seal's other lines and of everything after the 512 bytes. The
// rest is an HDF5 file: to HDF5 the seal is the "user block", which its readers (h5py, h5dump, Keras) skip.
//
//   stoker checkpoint shard
//   version 1
//   step 1000
//   attempt 00000000000000ff
//   save 3
//   rank 0
//   ranks 2
//   bytes 123456
//   xxh3-128 99aa06d3014798d86001c324468d497f
//
// So a reader finds damage by reading bytes, before HDF5 parses any of them.
//
// All functions are thread-safe. Failing system calls are SystemError; files that are not what they should
// be, UserError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace stoker::checkpoint {

inline constexpr std::size_t kSealBytes = 512;

struct Seal {
  std::string kind;  // "shard" or "manifest"
  std::int64_t step = 0;
  std::uint64_t attempt = 0, save = 0;
  int rank = 0, ranks = 1;
  std::uint64_t bytes = 0;  // of the whole file
  std::string digest;       // 32 hexadecimal digits

  // The same save wrote both.
  bool same_save(const Seal& other) const {
    return step == other.step && attempt == other.attempt && save == other.save && ranks == other.ranks;
  }
};

// pread of all bytes, retrying what is short or interrupted. Throws UserError at the end of the file.
void read_at(int fd, const std::string& path, void* data, std::size_t bytes, std::uint64_t offset);

// Puts the seal in front of `image`, whose first 512 bytes are its, and makes all of it the content of
// `path`, durable (but not its name). Written in pieces of a few MB; the room is reserved first where the
// file system can. Fills in seal.bytes and seal.digest.
void write_sealed(const std::string& path, std::span<std::byte> image, Seal& seal);

// Reads the seal and compares the file's size with it; the content is not read.
Seal read_seal(const std::string& path);

// Reads everything; throws UserError when the digest is not that of the content.
void verify_seal(const std::string& path, const Seal& seal);

}  // namespace stoker::checkpoint
