// The structure of an HDF5 file, without its elements, made in memory.
//
// HDF5 decides where everything lies (earliest format, contiguous datasets, no filters) and writes its own
// structures into memory. Whoever makes a file of it puts the elements at the offsets and writes the whole
// with plain write(2). So HDF5 never meets a full disk: an HDF5 file whose close fails cannot be got rid of
// (1.10 crashes at the process's exit), and HDF5's global lock is never held while data go to the disk.
//
// One thread at a time uses an object. Failures are SystemError (memory only).
#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/hdf5/hdf5_file.h"

namespace stoker::checkpoint {

class Hdf5Layout {
 public:
  // A file with room for `user_block` bytes in front (0, or 512 or more, a power of two) and about `datasets`
  // datasets: with a number far too small, structure comes to lie behind elements, and structure() grows.
  Hdf5Layout(std::size_t user_block, std::size_t datasets);
  // HDF5 holds the address of structure_.
  Hdf5Layout(const Hdf5Layout&) = delete;
  Hdf5Layout& operator=(const Hdf5Layout&) = delete;

  // A one-dimensional dataset; groups on the way are made. Returns the byte of the file where its elements
  // begin.
  std::uint64_t add_elements(const std::string& name, hsize_t count, hid_t file_type);

  // One fixed-length UTF-8 text of `bytes` bytes, at least one. Returns where it begins.
  std::uint64_t add_text(const std::string& name, std::size_t bytes);

  // Nothing more is added. The file's first bytes are structure(), with zeros where elements belong; all of
  // it has bytes() bytes.
  void finish();
  const std::vector<char>& structure() const { return structure_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::vector<char> structure_;  // before file_, which writes to it until it is closed
  std::uint64_t bytes_ = 0;
  hdf5::FileHandle file_;
};

}  // namespace stoker::checkpoint
