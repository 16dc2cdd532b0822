#include "lib/data/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "lib/base/error.h"

namespace stoker::data {
namespace {

// Deflate makes at most 1,032 bytes from one (a match of 258 bytes takes at least 2 bits).
constexpr std::uint64_t kLargestRatio = 1032;

class RangeStream : public ByteStream {
 public:
  RangeStream(std::shared_ptr<const DataFile> file, std::uint64_t offset, std::uint64_t length,
              std::string where)
      : file_(std::move(file)), offset_(offset), length_(length), left_(length), where_(std::move(where)) {}

  std::size_t read(void* out, std::size_t bytes) override {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, left_));
    if (count > 0) file_->read_at(offset_, out, count);
    offset_ += count;
    left_ -= count;
    return count;
  }
  std::uint64_t most_bytes() const override { return length_; }
  const std::string& where() const override { return where_; }

 private:
  std::shared_ptr<const DataFile> file_;
  std::uint64_t offset_, length_, left_;
  std::string where_;
};

class InflateStream : public ByteStream {
 public:
  InflateStream(std::unique_ptr<ByteStream> compressed, Deflate format)
      : compressed_(std::move(compressed)), format_(format) {
    // 15: the largest window; + 16: a gzip header and trailer; negative: neither.
    if (inflateInit2(&z_, format == Deflate::gzip ? 15 + 16 : -15) != Z_OK) throw std::bad_alloc();
  }
  ~InflateStream() override { inflateEnd(&z_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  std::size_t read(void* out, std::size_t bytes) override {
    std::size_t done = 0;
    while (done < bytes && !ended_) {
      if (z_.avail_in == 0) refill();
      const std::size_t piece = std::min(bytes - done, std::size_t{1} << 30);  // zlib counts in 32 bits
      z_.next_out = static_cast<Bytef*>(out) + done;
      z_.avail_out = static_cast<uInt>(piece);
      const uInt had = z_.avail_in;
      const int status = ::inflate(&z_, Z_NO_FLUSH);
      const std::size_t made = piece - z_.avail_out;
      done += made;
      if (status == Z_STREAM_END)
        end_member();
      else if (status == Z_MEM_ERROR)
        throw std::bad_alloc();
      else if (status != Z_OK && status != Z_BUF_ERROR)
        damaged(z_.msg != nullptr ? z_.msg : "bad data");
      else if (made == 0 && had == 0)
        truncated(where());
    }
    return done;
  }
  std::uint64_t most_bytes() const override { return compressed_->most_bytes() * kLargestRatio; }
  const std::string& where() const override { return compressed_->where(); }

 private:
  void refill() {
    z_.next_in = input_.data();
    z_.avail_in = static_cast<uInt>(compressed_->read(input_.data(), input_.size()));
  }

  // After a gzip member another may follow, or zeros that pad the file to a block.
  void end_member() {
    ended_ = true;
    if (format_ == Deflate::raw) return;
    for (;;) {
      if (z_.avail_in == 0) refill();
      if (z_.avail_in == 0) return;
      if (*z_.next_in != 0) break;
      ++z_.next_in;
      --z_.avail_in;
    }
    if (*z_.next_in != 0x1F) damaged("other bytes follow the compressed ones");
    if (inflateReset(&z_) != Z_OK) damaged("cannot go on");
    ended_ = false;
  }

  [[noreturn]] void damaged(const std::string& detail) const {
    throw UserError("the compressed data are damaged (" + detail + ")", where(),
                    "copy or make the file again");
  }

  std::unique_ptr<ByteStream> compressed_;
  Deflate format_;
  z_stream z_{};
  std::array<Bytef, 1 << 16> input_;
  bool ended_ = false;
};

}  // namespace

std::shared_ptr<const DataFile> DataFile::open(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    throw UserError("cannot read the file", path, std::string(std::strerror(errno)) + "; check the path");
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) throw_errno("fstat", path);
  if (!S_ISREG(st.st_mode)) throw UserError("is no regular file", path, "give a file");
  return std::shared_ptr<const DataFile>(
      new DataFile(path, std::move(fd), static_cast<std::uint64_t>(st.st_size)));
}

bool DataFile::is_gzip() const {
  unsigned char magic[2] = {};
  if (size_ < sizeof magic) return false;
  read_at(0, magic, sizeof magic);
  return magic[0] == 0x1F && magic[1] == 0x8B;
}

void DataFile::read_at(std::uint64_t offset, void* out, std::size_t bytes) const {
  std::byte* to = static_cast<std::byte*>(out);
  while (bytes > 0) {
    const ssize_t n = ::pread(fd_.get(), to, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("pread", path_);
    if (n == 0) truncated(path_);
    to += n;
    offset += static_cast<std::uint64_t>(n);
    bytes -= static_cast<std::size_t>(n);
  }
}

std::unique_ptr<ByteStream> stream_range(std::shared_ptr<const DataFile> file, std::uint64_t offset,
                                         std::uint64_t length, std::string where) {
  return std::make_unique<RangeStream>(std::move(file), offset, length, std::move(where));
}

std::unique_ptr<ByteStream> inflate(std::unique_ptr<ByteStream> compressed, Deflate format) {
  return std::make_unique<InflateStream>(std::move(compressed), format);
}

std::unique_ptr<ByteStream> stream_file(std::shared_ptr<const DataFile> file) {
  const bool gzip = file->is_gzip();
  const std::uint64_t size = file->size();
  std::string where = file->path();
  auto stream = stream_range(std::move(file), 0, size, std::move(where));
  return gzip ? inflate(std::move(stream), Deflate::gzip) : std::move(stream);
}

void read_exactly(ByteStream& stream, void* out, std::size_t bytes) {
  if (stream.read(out, bytes) != bytes) truncated(stream.where());
}

void expect_end(ByteStream& stream) {
  char extra;
  if (stream.read(&extra, 1) != 0) too_long(stream.where());
}

void truncated(const std::string& where) {
  throw UserError("the file is truncated", where, "copy or make it again");
}

void too_long(const std::string& where) {
  throw UserError("there is more data than the header says", where,
                  "copy or make it again, with nothing behind the array");
}

}  // namespace stoker::data
