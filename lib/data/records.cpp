#include "lib/data/records.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace stoker::data {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

constexpr std::size_t kPiece = std::size_t{8} << 20;  // bytes read at once while loading

class MemoryRecords : public Records {
 public:
  MemoryRecords(ArrayInfo info, std::unique_ptr<std::byte[]> bytes)
      : Records(std::move(info)), bytes_(std::move(bytes)) {}

  void read(std::span<const std::int64_t> indices, std::byte* out, Scratch&) const override {
    const std::size_t size = info().record_bytes;
    for (const std::int64_t index : indices) {
      std::memcpy(out, bytes_.get() + static_cast<std::size_t>(index) * size, size);
      out += size;
    }
  }
  const std::byte* memory() const override { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

class FileRecords : public Records {
 public:
  FileRecords(ArrayInfo info, std::vector<Segment> segments)
      : Records(std::move(info)), segments_(std::move(segments)) {}

  void read(std::span<const std::int64_t> indices, std::byte* out, Scratch&) const override {
    const std::size_t size = info().record_bytes;
    for (std::size_t i = 0; i < indices.size();) {
      std::int64_t row = indices[i];
      const Segment* segment = segments_.data();
      while (row >= segment->count) row -= (segment++)->count;
      // Neighbours in the file and in the request are one read.
      std::size_t run = 1;
      while (segment->stride == size && i + run < indices.size() &&
             indices[i + run] == indices[i] + static_cast<std::int64_t>(run) &&
             row + static_cast<std::int64_t>(run) < segment->count)
        ++run;
      segment->file->read_at(segment->offset + static_cast<std::uint64_t>(row) * segment->stride, out,
                             run * size);
      out += run * size;
      i += run;
    }
  }

 private:
  std::vector<Segment> segments_;
};

// Element (i, k) of the records is at i + k'·count in the file, where k' counts the record's elements with
// its first axis fastest. The file is read front to back and its elements are put where they belong.
void read_fortran_order(const ArrayInfo& info, ByteStream& stream, std::byte* out) {
  const std::size_t width = size_of(info.element), rank = info.shape.rank();
  const std::size_t count = static_cast<std::size_t>(info.count);
  std::vector<std::int64_t> index(rank, 0);
  std::vector<std::byte> column(std::min(kPiece / width, count) * width);
  for (std::size_t k = 0; k < info.record_elements; ++k) {
    std::size_t c_order = 0;
    for (std::size_t axis = 0; axis < rank; ++axis)
      c_order = c_order * static_cast<std::size_t>(info.shape[axis]) + static_cast<std::size_t>(index[axis]);
    for (std::size_t first = 0; first < count; first += column.size() / width) {
      const std::size_t rows = std::min(column.size() / width, count - first);
      read_exactly(stream, column.data(), rows * width);
      for (std::size_t row = 0; row < rows; ++row)
        std::memcpy(out + (first + row) * info.record_bytes + c_order * width, column.data() + row * width,
                    width);
    }
    for (std::size_t axis = 0; axis < rank && ++index[axis] == info.shape[axis]; ++axis) index[axis] = 0;
  }
}

}  // namespace

ArrayInfo array_info(std::string where, Element element, std::span<const std::int64_t> dimensions) {
  if (dimensions.empty())
    throw UserError("the array has no dimension", where, "give arrays whose first axis counts samples");
  ArrayInfo info;
  info.element = element;
  info.count = dimensions[0];
  info.shape = Shape(std::vector<std::int64_t>(dimensions.begin() + 1, dimensions.end()));
  if (info.count == 0) throw UserError("there are no samples", where, "give data with at least one sample");
  std::uint64_t bytes = size_of(element);
  for (const std::int64_t dimension : dimensions) {
    if (dimension <= 0)
      throw UserError("an axis of the array is empty", where, "give arrays without empty axes");
    if (bytes > kMostBytes / static_cast<std::uint64_t>(dimension))
      throw UserError("the array claims to be impossibly large", where,
                      "the file may be damaged; make it again");
    bytes *= static_cast<std::uint64_t>(dimension);
  }
  info.record_elements = static_cast<std::size_t>(info.shape.elements());
  info.record_bytes = info.record_elements * size_of(element);
  info.where = std::move(where);
  return info;
}

std::unique_ptr<Records> records_in_memory(ArrayInfo info, std::unique_ptr<std::byte[]> bytes) {
  return std::make_unique<MemoryRecords>(std::move(info), std::move(bytes));
}

std::unique_ptr<Records> records_in_files(ArrayInfo info, std::vector<Segment> segments) {
  return std::make_unique<FileRecords>(std::move(info), std::move(segments));
}

std::unique_ptr<Records> records_in_file(ArrayInfo info, std::shared_ptr<const DataFile> file,
                                         std::uint64_t offset, std::uint64_t bytes) {
  if (bytes < info.bytes()) truncated(info.where);
  if (bytes > info.bytes()) too_long(info.where);
  const Segment whole{std::move(file), offset, info.record_bytes, info.count};
  return records_in_files(std::move(info), {whole});
}

std::unique_ptr<Records> load_records(ArrayInfo info, ByteStream& stream, bool fortran_order,
                                      std::uint64_t memory_bytes) {
  if (info.bytes() > stream.most_bytes()) truncated(stream.where());
  if (info.bytes() > memory_bytes)
    throw UserError("the data need " + format_bytes(info.bytes()) + " of memory; " +
                        format_bytes(memory_bytes) + " may be used",
                    info.where,
                    "store them uncompressed and in C order, or as HDF5, to have them read piece by piece");
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(info.bytes());
  if (fortran_order && info.shape.rank() > 0)
    read_fortran_order(info, stream, bytes.get());
  else
    read_exactly(stream, bytes.get(), info.bytes());
  expect_end(stream);
  return records_in_memory(std::move(info), std::move(bytes));
}

std::unique_ptr<Records> hold(std::unique_ptr<Records> records, std::uint64_t memory_bytes) {
  const ArrayInfo& info = records->info();
  const std::uint64_t limit = records->is_slow() ? memory_bytes : std::min(memory_bytes, kHeldForSpeed);
  if (records->memory() != nullptr || info.bytes() > limit) return records;
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(info.bytes());
  const std::int64_t piece = std::max<std::int64_t>(1, static_cast<std::int64_t>(kPiece / info.record_bytes));
  std::vector<std::int64_t> indices(static_cast<std::size_t>(std::min(piece, info.count)));
  Scratch scratch;
  for (std::int64_t first = 0; first < info.count; first += piece) {
    const std::span<std::int64_t> some(indices.data(),
                                       static_cast<std::size_t>(std::min(piece, info.count - first)));
    std::iota(some.begin(), some.end(), first);
    records->read(some, bytes.get() + static_cast<std::size_t>(first) * info.record_bytes, scratch);
  }
  return records_in_memory(info, std::move(bytes));
}

}  // namespace stoker::data
