// Arrays in files: `count` records of one shape, each read on its own, in the file's element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/data/byte_stream.h"
#include "lib/data/element.h"
#include "lib/data/source.h"
#include "lib/tensor/shape.h"

namespace stoker::data {

// What an array is, after its claims have been checked: every dimension is at least 1 and all bytes together
// are countable.
struct ArrayInfo {
  std::string where;  // "FILE" or "FILE: DATASET", for messages
  Element element;
  std::int64_t count = 0;
  Shape shape;  // of one record; () for a scalar
  std::size_t record_elements = 0;
  std::size_t record_bytes = 0;
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(count) * record_bytes; }
};

// From all dimensions, the records' axis first. Throws UserError for no dimension, no record, an empty
// record, or more bytes than 2^62.
ArrayInfo array_info(std::string where, Element element, std::span<const std::int64_t> dimensions);

class Records {
 public:
  explicit Records(ArrayInfo info) : info_(std::move(info)) {}
  virtual ~Records() = default;
  const ArrayInfo& info() const { return info_; }

  // The records `indices` one after the other. Thread-safe. Uses scratch.ordered_bytes and scratch.order
  // only.
  virtual void read(std::span<const std::int64_t> indices, std::byte* out, Scratch& scratch) const = 0;
  // All records in order, when they are in memory.
  virtual const std::byte* memory() const { return nullptr; }
  // True when one record costs much more than its share of all (compressed chunks).
  virtual bool is_slow() const { return false; }

 private:
  ArrayInfo info_;
};

// In memory.
std::unique_ptr<Records> records_in_memory(ArrayInfo info, std::unique_ptr<std::byte[]> bytes);

// In place in files: record i of a segment is at offset + i·stride.
struct Segment {
  std::shared_ptr<const DataFile> file;
  std::uint64_t offset = 0;
  std::uint64_t stride = 0;
  std::int64_t count = 0;
};
std::unique_ptr<Records> records_in_files(ArrayInfo info, std::vector<Segment> segments);

// One after the other in the `bytes` bytes from `offset` on. Throws UserError when the array takes more or
// fewer.
std::unique_ptr<Records> records_in_file(ArrayInfo info, std::shared_ptr<const DataFile> file,
                                         std::uint64_t offset, std::uint64_t bytes);

// Read to the end of the stream into memory. Fortran order (the first axis fastest) becomes C order. Throws
// UserError when the stream cannot hold so much, is shorter or longer, or when it would take more than
// `memory_bytes`.
std::unique_ptr<Records> load_records(ArrayInfo info, ByteStream& stream, bool fortran_order,
                                      std::uint64_t memory_bytes);

// Arrays that can be read in place are copied to memory up to this size: it saves a call a record, and every
// later read on a network file system. Beyond it the page cache serves as well.
inline constexpr std::uint64_t kHeldForSpeed = std::uint64_t{256} << 20;

// A copy in memory where that is worth it and fits `memory_bytes`, else `records` itself.
std::unique_ptr<Records> hold(std::unique_ptr<Records> records, std::uint64_t memory_bytes);

}  // namespace stoker::data
