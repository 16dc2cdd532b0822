// IDX, the format of MNIST (described at the top of its home page): two zero bytes, a byte for the element
// type, a byte for the number of dimensions, the dimensions as 32-bit integers, then the elements in C order;
// all big-endian.
#include <bit>

#include "lib/base/error.h"
#include "lib/data/formats.h"

namespace stoker::data {
namespace {

std::optional<ElementKind> element_kind(unsigned char code) {
  switch (code) {
    case 0x08:
      return ElementKind::u8;
    case 0x09:
      return ElementKind::i8;
    case 0x0B:
      return ElementKind::i16;
    case 0x0C:
      return ElementKind::i32;
    case 0x0D:
      return ElementKind::f32;
    case 0x0E:
      return ElementKind::f64;
    default:
      return std::nullopt;
  }
}

std::unique_ptr<Records> open_array(const std::string& path, std::uint64_t memory_bytes) {
  auto file = DataFile::open(path);
  const auto stream = stream_file(file);
  unsigned char magic[4] = {};
  read_exactly(*stream, magic, sizeof magic);
  const auto kind = element_kind(magic[2]);
  if (magic[0] != 0 || magic[1] != 0 || !kind || magic[3] == 0)
    throw UserError("not an IDX file", path, "it starts with other bytes than 0 0 TYPE DIMENSIONS");
  std::vector<std::int64_t> dimensions;
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char bytes[4] = {};
    read_exactly(*stream, bytes, sizeof bytes);
    dimensions.push_back(std::int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3]);
  }
  const Element element{*kind, size_of({*kind}) > 1 && std::endian::native == std::endian::little};
  ArrayInfo info = array_info(path, element, dimensions);
  if (file->is_gzip()) return load_records(std::move(info), *stream, false, memory_bytes);
  const std::uint64_t offset = sizeof magic + 4 * dimensions.size();
  const std::uint64_t bytes = file->size() - offset;
  return records_in_file(std::move(info), std::move(file), offset, bytes);
}

}  // namespace

Arrays open_idx(const DataSpec& spec, const OpenOptions& options) {
  return open_array_files(spec, options, open_array, "write idx:IMAGES,LABELS");
}

}  // namespace stoker::data
