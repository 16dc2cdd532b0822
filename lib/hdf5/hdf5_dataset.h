// Datasets of an HDF5 file (hdf5_file.h: threads and errors).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/hdf5/hdf5_library.h"
#include "lib/tensor/shape.h"

namespace stoker::hdf5 {

// What a dataset holds, in our terms.
enum class Kind : std::uint8_t { integer, unsigned_integer, floating, boolean, text, other };

struct DatasetInfo {
  Shape shape;
  Kind kind = Kind::other;
  std::size_t element_bytes = 0;
  bool chunked = false;
  std::vector<std::int64_t> chunk;  // when chunked
  bool filtered = false;            // compressed or checksummed
};

class Dataset {
 public:
  Dataset(std::string file, std::string path, DatasetHandle handle);
  const DatasetInfo& info() const { return info_; }
  const std::string& path() const { return path_; }
  std::string where() const;  // "FILE: /path", for messages
  hid_t id() const { return handle_.get(); }

  // The whole dataset, converted to the memory type (e.g. H5T_NATIVE_FLOAT); `out` holds
  // info().shape.elements() elements.
  void read(hid_t memory_type, void* out) const;
  // Rows [first, first + count) of axis 0.
  void read_rows(hid_t memory_type, std::int64_t first, std::int64_t count, void* out) const;
  // The rows `rows` (strictly rising) of axis 0, in that order.
  void read_rows(hid_t memory_type, std::span<const std::int64_t> rows, void* out) const;
  // The whole dataset, converted.
  std::vector<float> read_floats() const;
  std::vector<std::int64_t> read_integers() const;

 private:
  std::string file_, path_;
  DatasetHandle handle_;
  DatasetInfo info_;
};

// Fills a dataset row by row (axis 0), from the first on.
class RowWriter {
 public:
  RowWriter(std::string where, DatasetHandle handle, Shape shape);
  // The next `rows` rows; more than the dataset has is a std::logic_error.
  void append(hid_t memory_type, const void* data, std::int64_t rows);
  void close() { handle_.reset(); }  // before File::close

 private:
  std::string where_;
  DatasetHandle handle_;
  Shape shape_;
  std::int64_t next_ = 0;
};

}  // namespace stoker::hdf5
