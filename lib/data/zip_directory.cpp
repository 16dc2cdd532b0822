#include "lib/data/zip_directory.h"

#include <zlib.h>

#include <algorithm>

#include "lib/base/error.h"

namespace stoker::data {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034B50, kCentralHeader = 0x02014B50, kEnd = 0x06054B50,
                        kEnd64 = 0x06064B50, kLocator64 = 0x07064B50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22, kEnd64Bytes = 56,
                      kLocatorBytes = 20;
constexpr std::uint64_t kMostDirectoryBytes = std::uint64_t{64} << 20;
constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // a 32-bit field whose value is in the Zip64 extra field

[[noreturn]] void damaged(const std::string& path) {
  throw UserError("not a whole zip archive (.npz)", path,
                  "it may be truncated or damaged; copy or make it again");
}

std::uint64_t little(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::string bytes_at(const DataFile& file, std::uint64_t offset, std::uint64_t count) {
  if (offset > file.size() || count > file.size() - offset) damaged(file.path());
  std::string bytes(static_cast<std::size_t>(count), '\0');
  file.read_at(offset, bytes.data(), bytes.size());
  return bytes;
}

struct Directory {
  std::uint64_t offset = 0, bytes = 0, members = 0;
};

// The end record is the last thing in the file but for a comment of up to 65,535 bytes.
Directory find_directory(const DataFile& file) {
  const std::uint64_t tail_bytes = std::min<std::uint64_t>(file.size(), kEndBytes + 0xFFFF);
  const std::string tail = bytes_at(file, file.size() - tail_bytes, tail_bytes);
  for (std::size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
    if (little(tail, at, 4) != kEnd || at + kEndBytes + little(tail, at + 20, 2) != tail.size()) continue;
    Directory directory{little(tail, at + 16, 4), little(tail, at + 12, 4), little(tail, at + 10, 2)};
    const std::uint64_t end = file.size() - tail_bytes + at;
    if (end < kLocatorBytes) return directory;
    const std::string locator = bytes_at(file, end - kLocatorBytes, kLocatorBytes);
    if (little(locator, 0, 4) != kLocator64) return directory;
    const std::string end64 = bytes_at(file, little(locator, 8, 8), kEnd64Bytes);
    if (little(end64, 0, 4) != kEnd64) damaged(file.path());
    return {little(end64, 48, 8), little(end64, 40, 8), little(end64, 32, 8)};
  }
  damaged(file.path());
}

// Replaces the fields that are kIn64 by those of the Zip64 extra field, which has them in this order.
void apply_zip64(const std::string& extra, const std::string& path,
                 std::initializer_list<std::uint64_t*> fields) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::size_t bytes = little(extra, at + 2, 2);
    if (at + 4 + bytes > extra.size()) return;
    if (little(extra, at, 2) == kZip64Extra) {
      std::size_t value = at + 4;
      for (std::uint64_t* field : fields) {
        if (*field != kIn64) continue;
        if (value + 8 > at + 4 + bytes) damaged(path);
        *field = little(extra, value, 8);
        value += 8;
      }
      return;
    }
    at += 4 + bytes;
  }
}

// Verifies length and CRC-32 when the last byte has been read.
class CheckedStream : public ByteStream {
 public:
  CheckedStream(std::unique_ptr<ByteStream> stream, const ZipMember& member)
      : stream_(std::move(stream)), size_(member.size), expected_(member.crc) {}

  std::size_t read(void* out, std::size_t bytes) override {
    const std::size_t count = stream_->read(out, bytes);
    crc_ = crc32_z(crc_, static_cast<const Bytef*>(out), count);
    done_ += count;
    if (count < bytes && (done_ != size_ || crc_ != expected_))
      throw UserError("the archive's checksum does not fit the data", where(),
                      "the file is damaged; copy or make it again");
    return count;
  }
  std::uint64_t most_bytes() const override { return std::min(size_, stream_->most_bytes()); }
  const std::string& where() const override { return stream_->where(); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::uint64_t size_, done_ = 0;
  uLong crc_ = 0;
  std::uint32_t expected_;
};

}  // namespace

std::vector<ZipMember> read_zip_directory(const DataFile& file) {
  const std::string& path = file.path();
  const Directory directory = find_directory(file);
  if (directory.bytes > kMostDirectoryBytes) damaged(path);
  const std::string bytes = bytes_at(file, directory.offset, directory.bytes);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    if (bytes.size() - at < kCentralBytes || little(bytes, at, 4) != kCentralHeader) damaged(path);
    const std::size_t name_bytes = little(bytes, at + 28, 2), extra_bytes = little(bytes, at + 30, 2);
    const std::size_t comment_bytes = little(bytes, at + 32, 2);
    if (bytes.size() - at - kCentralBytes < name_bytes + extra_bytes + comment_bytes) damaged(path);
    ZipMember member;
    member.name = bytes.substr(at + kCentralBytes, name_bytes);
    member.crc = static_cast<std::uint32_t>(little(bytes, at + 16, 4));
    member.stored = little(bytes, at + 20, 4);
    member.size = little(bytes, at + 24, 4);
    std::uint64_t local = little(bytes, at + 42, 4);
    apply_zip64(bytes.substr(at + kCentralBytes + name_bytes, extra_bytes), path,
                {&member.size, &member.stored, &local});
    const std::uint64_t method = little(bytes, at + 10, 2);
    if ((little(bytes, at + 8, 2) & 1) != 0 || (method != 0 && method != 8))
      throw UserError("the archive is encrypted or compressed in an unknown way", path + ": " + member.name,
                      "save it with numpy.savez or numpy.savez_compressed");
    member.deflated = method == 8;
    const std::string header = bytes_at(file, local, kLocalBytes);
    if (little(header, 0, 4) != kLocalHeader || (!member.deflated && member.stored != member.size))
      damaged(path);
    member.offset = local + kLocalBytes + little(header, 26, 2) + little(header, 28, 2);
    if (member.offset > file.size() || member.stored > file.size() - member.offset) damaged(path);
    members.push_back(std::move(member));
    at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }
  return members;
}

std::unique_ptr<ByteStream> stream_member(std::shared_ptr<const DataFile> file, const ZipMember& member) {
  std::string where = file->path() + ": " + member.name;
  auto stream = stream_range(std::move(file), member.offset, member.stored, std::move(where));
  if (member.deflated) stream = inflate(std::move(stream), Deflate::raw);
  return std::make_unique<CheckedStream>(std::move(stream), member);
}

}  // namespace stoker::data
