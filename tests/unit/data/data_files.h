// What the tests of lib/data share: a temporary folder, and writers of small files in every format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/data/source.h"

namespace stoker::data::test {

// A folder of its own that is removed with everything in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view content) const;

 private:
  std::string path_;
};

// The bytes of values in this machine's order (little-endian where the tests run), or reversed.
template <typename T>
std::string bytes_of(const std::vector<T>& values, bool reversed = false) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  if (reversed)
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T))
      std::reverse(bytes.begin() + i, bytes.begin() + i + sizeof(T));
  return bytes;
}

std::string idx(unsigned char type, const std::vector<std::uint32_t>& dimensions, std::string_view elements);
std::string npy(const std::string& descr, bool fortran_order, const std::string& shape,
                std::string_view elements);
std::string gzip(std::string_view content);

struct Member {
  std::string name, content;
  bool deflated = false;
};
// A zip archive; with zip64, sizes and places are in Zip64 fields only.
std::string zip(const std::vector<Member>& members, bool zip64 = false);

// An HDF5 file with x (n, 2, 3) float32, x[i] = 10 i + 0 … 5, and y (n) int64, y[i] = i % 7.
struct Hdf5Kind {
  std::int64_t chunk = 0;  // rows; 0: contiguous
  bool compressed = false;
};
void write_hdf5(const std::string& path, std::int64_t n, Hdf5Kind kind);

// All samples of a source, in order.
struct Content {
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  std::vector<float> values;
};
Content read_all(const Source& source);
Content read_some(const Source& source, const std::vector<std::int64_t>& indices);

// The message of the UserError that opening (and reading every label of) the data throws; empty when it
// throws none.
std::string error_of(const std::string& spec, const OpenOptions& options = {});

}  // namespace stoker::data::test
