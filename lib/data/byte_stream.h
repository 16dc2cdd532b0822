// Files of data as bytes: read at a place, or as a stream from which gzip compression has been taken off.
//
// The content of a file is not to be trusted: what it claims about its own size is compared with what it can
// hold before anything is allocated (ByteStream::most_bytes).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/handle.h"

namespace stoker::data {

// A file open for reading. Immutable; read_at may be called from any thread.
class DataFile {
 public:
  // Throws UserError when it is missing, unreadable, or no regular file.
  static std::shared_ptr<const DataFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  bool is_gzip() const;  // by the first two bytes

  // Exactly `bytes` bytes from `offset`. Throws UserError when the file ends before that.
  void read_at(std::uint64_t offset, void* out, std::size_t bytes) const;

 private:
  DataFile(std::string path, FileDescriptor fd, std::uint64_t size)
      : path_(std::move(path)), fd_(std::move(fd)), size_(size) {}
  std::string path_;
  FileDescriptor fd_;
  std::uint64_t size_;
};

// Bytes from front to back. For one thread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Up to `bytes` bytes; fewer only at the end. Throws UserError for damaged compression.
  virtual std::size_t read(void* out, std::size_t bytes) = 0;
  // No more than this can follow from the start of the stream: an upper bound that holds before anything is
  // read.
  virtual std::uint64_t most_bytes() const = 0;
  virtual const std::string& where() const = 0;  // "FILE" or "FILE: MEMBER", for messages
};

// The bytes [offset, offset + length) of a file.
std::unique_ptr<ByteStream> stream_range(std::shared_ptr<const DataFile> file, std::uint64_t offset,
                                         std::uint64_t length, std::string where);

// Takes the compression off `compressed`: gzip (several members may follow one another) or a bare deflate
// stream, as in a zip.
enum class Deflate { gzip, raw };
std::unique_ptr<ByteStream> inflate(std::unique_ptr<ByteStream> compressed, Deflate format);

// The whole file, decompressed when it starts as gzip does.
std::unique_ptr<ByteStream> stream_file(std::shared_ptr<const DataFile> file);

// Exactly `bytes` bytes, or UserError "truncated".
void read_exactly(ByteStream& stream, void* out, std::size_t bytes);
// Throws UserError unless the stream is at its end (which also verifies gzip's checksum).
void expect_end(ByteStream& stream);

// There are fewer, or more, bytes than an array takes.
[[noreturn]] void truncated(const std::string& where);
[[noreturn]] void too_long(const std::string& where);

}  // namespace stoker::data
