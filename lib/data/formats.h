// The file formats of data: an explicit table of what opens each. A format makes arrays (records.h) of x and
// y out of files; all that the formats share (choosing rows, shapes, normalisation, labels) is
// array_source.h's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/data/data_spec.h"
#include "lib/data/records.h"
#include "lib/data/source.h"

namespace stoker::data {

struct Arrays {
  std::unique_ptr<Records> x;
  std::unique_ptr<Records> y;  // may be null
  std::string names;           // which parts of the files x and y are, for the digest: "x_train,y_train"
  bool channels_first = false;
  std::int64_t classes = 0;
  std::vector<std::string> class_names;
  std::vector<std::string> files;  // all that were read
  std::string advice;              // Description::advice
};

// options.memory_bytes is resolved, never 0.
using OpenFormat = Arrays (*)(const DataSpec& spec, const OpenOptions& options);

Arrays open_hdf5(const DataSpec& spec, const OpenOptions& options);
Arrays open_npz(const DataSpec& spec, const OpenOptions& options);
Arrays open_npy(const DataSpec& spec, const OpenOptions& options);
Arrays open_idx(const DataSpec& spec, const OpenOptions& options);
Arrays open_cifar10(const DataSpec& spec, const OpenOptions& options);
Arrays open_cifar100(const DataSpec& spec, const OpenOptions& options);
Arrays open_csv(const DataSpec& spec, const OpenOptions& options);

// For formats of one array a file: `open` opens the file of x, and that of y if there are two. More are a
// UserError with the advice `usage`.
using OpenArray = std::unique_ptr<Records> (*)(const std::string& path, std::uint64_t memory_bytes);
Arrays open_array_files(const DataSpec& spec, const OpenOptions& options, OpenArray open,
                        std::string_view usage);

struct Format {
  std::string_view kind;
  std::span<const std::string_view> keys;  // besides the common ones
  OpenFormat open;
};

std::span<const Format> formats();
std::span<const std::string_view> kinds();

// The kind of the data at `path`, from its content, else from its extension. Throws UserError when neither
// tells.
std::string kind_of(const std::string& path);

// The names that stand for x and y in a file of named arrays (HDF5, npz): those given as the keys x= and y=
// (y=none: none), else the first pair of common names that is there, else x alone. `listing` describes the
// file's arrays for the error that no x was found. y may be empty.
struct ArrayNames {
  std::string x, y;
};
ArrayNames choose_arrays(const DataSpec& spec, const std::vector<std::string>& available,
                         const std::string& listing);

}  // namespace stoker::data
