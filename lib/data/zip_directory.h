// The central directory of a zip archive (PKWARE's APPNOTE 6.3, sections 4.3 and 4.5.3), Zip64 included, as
// far as arrays need it: where each member's bytes are, so that stored members can be read in place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "lib/data/byte_stream.h"

namespace stoker::data {

struct ZipMember {
  std::string name;
  std::uint64_t offset = 0;  // of its (compressed) bytes in the file
  std::uint64_t stored = 0;  // bytes in the file
  std::uint64_t size = 0;    // bytes once decompressed
  std::uint32_t crc = 0;     // CRC-32 of the decompressed bytes
  bool deflated = false;
};

// All members, in the directory's order. Throws UserError for what is no whole zip archive, and for encrypted
// members or other compression than deflate. Every range is within the file.
std::vector<ZipMember> read_zip_directory(const DataFile& file);

// The member's bytes, decompressed. Once all are read the length and the checksum are verified: UserError if
// they differ.
std::unique_ptr<ByteStream> stream_member(std::shared_ptr<const DataFile> file, const ZipMember& member);

}  // namespace stoker::data
