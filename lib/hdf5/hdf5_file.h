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

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/hdf5/hdf5_dataset.h"
#include "lib/hdf5/hdf5_library.h"
#include "lib/tensor/shape.h"

namespace stoker::hdf5 {

// True when the first bytes are HDF5's signature at offset 0.
bool looks_like_hdf5(const std::string& file);

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
  // Names in native (creation or name) order.
  std::vector<std::string> children(const std::string& group) const;
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
  ObjectHandle open_object(const std::string& path) const;  // nothing if it is missing or damaged
  DatasetHandle create_dataset(const std::string& path, const Shape& shape, hid_t file_type);
  std::string name_;
  FileHandle handle_;
};

}  // namespace stoker::hdf5
