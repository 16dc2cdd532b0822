// Small owning types over the serial HDF5 C API.
//
// Thread-safety: Debian's serial HDF5 takes one global lock, so calls from several threads are safe, and wait
// for each other (a long write stalls a read): write in pieces of a few MB. Every thread that calls anything
// here is silenced by quiet_hdf5(), which each entry point calls; HDF5 switches its error printing per
// thread.
//
// Errors: opening or reading what is missing, damaged or of another type is a UserError naming file and
// object ("where"); failing writes are SystemError. `path` arguments are HDF5 paths, relative to the root
// ("model_weights/dense").
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/handle.h"
#include "lib/tensor/shape.h"

namespace stoker::hdf5 {

using FileHandle = Handle<hid_t, H5Fclose, -1>;
using GroupHandle = Handle<hid_t, H5Gclose, -1>;
using DatasetHandle = Handle<hid_t, H5Dclose, -1>;
using SpaceHandle = Handle<hid_t, H5Sclose, -1>;
using TypeHandle = Handle<hid_t, H5Tclose, -1>;
using AttributeHandle = Handle<hid_t, H5Aclose, -1>;
using ObjectHandle = Handle<hid_t, H5Oclose, -1>;
using PropertyHandle = Handle<hid_t, H5Pclose, -1>;

// Switches HDF5's printing off for this thread, and its handler at the exit of the process: what is to be on disk is closed
// by hand.
void quiet_hdf5();

// "1.10.8"
std::string library_version();

// True when the first bytes are HDF5's signature at offset 0.
bool looks_like_hdf5(const std::string& file);

// What a dataset or attribute holds, in our terms.
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

class File {
 public:
  // For reading, without file locks (several runs, network file systems).
  static File open(const std::string& path);
  // Held in memory (an .h5 member of a zip); read-only.
  static File from_memory(std::string name, std::string content);
  // A new file, replacing one of that name. Written with the library's earliest format.
  static File create(const std::string& path);

  const std::string& name() const { return name_; }
  hid_t id() const { return handle_.get(); }

  bool exists(const std::string& path) const;  // a group or dataset that a link leads to
  bool is_group(const std::string& path) const;
  std::vector<std::string> children(
      const std::string& group) const;  // names in native (creation or name) order
  // Every dataset's path, depth first.
  std::vector<std::string> datasets() const;
  Dataset dataset(const std::string& path) const;

  // Attributes of the object at `path` ("" or "/" is the root). Fixed- and variable-length strings are both
  // read.
  bool has_attribute(const std::string& path, const std::string& name) const;
  std::optional<std::string> text_attribute(const std::string& path, const std::string& name) const;
  // A list of strings, also one split over name0, name1, … as h5py users do beyond 64,512 bytes; nothing if
  // absent.
  std::optional<std::vector<std::string>> text_list_attribute(const std::string& path,
                                                              const std::string& name) const;
  std::optional<std::int64_t> integer_attribute(const std::string& path, const std::string& name) const;

  // Writing. Groups on the way are made.
  void make_group(const std::string& path);
  void write_text_attribute(const std::string& path, const std::string& name, const std::string& value);
  void write_integer_attribute(const std::string& path, const std::string& name, std::int64_t value);
  // As an array of fixed-length strings; split into name0, name1, … when it is over 64,512 bytes. An empty
  // list becomes an empty float64 array, as h5py writes it.
  void write_text_list_attribute(const std::string& path, const std::string& name,
                                 const std::vector<std::string>& values);
  // A contiguous dataset. file_type e.g. H5T_IEEE_F32LE; memory_type e.g. H5T_NATIVE_FLOAT.
  void write(const std::string& path, const Shape& shape, hid_t file_type, hid_t memory_type,
             const void* data);
  // The same in pieces of at most `piece_bytes`, letting other threads in between.
  void write_in_pieces(const std::string& path, const Shape& shape, hid_t file_type, hid_t memory_type,
                       const void* data, std::size_t element_bytes, std::size_t piece_bytes);

  // A contiguous dataset to be filled row by row; the writer must be closed before the file.
  RowWriter create_rows(const std::string& path, const Shape& shape, hid_t file_type);

  // Flushes and closes, checking both. A file that is only destroyed may lack what was written last.
  void close();

 private:
  File(std::string name, FileHandle handle) : name_(std::move(name)), handle_(std::move(handle)) {}
  DatasetHandle create_dataset(const std::string& path, const Shape& shape, hid_t file_type);
  std::string name_;
  FileHandle handle_;
};

}  // namespace stoker::hdf5
