#include "lib/hdf5/hdf5_dataset.h"

#include <cerrno>
#include <stdexcept>

#include "lib/hdf5/hdf5_errors.h"

namespace stoker::hdf5 {
namespace {

Kind kind_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return H5Tget_sign(type) == H5T_SGN_NONE ? Kind::unsigned_integer : Kind::integer;
    case H5T_FLOAT:
      return Kind::floating;
    case H5T_STRING:
      return Kind::text;
    case H5T_ENUM:
      return H5Tget_size(type) == 1 ? Kind::boolean : Kind::other;
    default:
      return Kind::other;
  }
}

// The rows [first, first + count) of axis 0, in the dataset and as memory holds them. Where HDF5 refuses the
// selection `in_file` is nothing, and so the transfer fails.
struct RowSelection {
  SpaceHandle in_file, in_memory;

  RowSelection(const DatasetHandle& dataset, const Shape& shape, std::int64_t first, std::int64_t count)
      : in_file(H5Dget_space(dataset.get())) {
    std::vector<hsize_t> size(shape.dims().begin(), shape.dims().end()), start(size.size(), 0);
    size[0] = static_cast<hsize_t>(count);
    start[0] = static_cast<hsize_t>(first);
    in_memory.reset(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr));
    if (H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) < 0)
      in_file.reset();
  }
};

}  // namespace

Dataset::Dataset(std::string file, std::string path, DatasetHandle handle)
    : file_(std::move(file)), path_(std::move(path)), handle_(std::move(handle)) {
  const SpaceHandle space(H5Dget_space(handle_.get()));
  const TypeHandle type(H5Dget_type(handle_.get()));
  const PropertyHandle creation(H5Dget_create_plist(handle_.get()));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (!space || !type || !creation || rank < 0)
    unreadable(file_, path_, "cannot read the dataset's description");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (rank > 0) H5Sget_simple_extent_dims(space.get(), dims.data(), nullptr);
  info_.shape = Shape(std::vector<std::int64_t>(dims.begin(), dims.end()));
  info_.kind = kind_of(type.get());
  info_.element_bytes = H5Tget_size(type.get());
  info_.filtered = H5Pget_nfilters(creation.get()) > 0;
  info_.chunked = H5Pget_layout(creation.get()) == H5D_CHUNKED;
  if (info_.chunked && rank > 0) {
    H5Pget_chunk(creation.get(), rank, dims.data());
    info_.chunk.assign(dims.begin(), dims.end());
  }
}

std::string Dataset::where() const { return joined(file_, path_); }

void Dataset::read(hid_t memory_type, void* out) const {
  quiet_hdf5();
  if (H5Dread(handle_.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0)
    unreadable(file_, path_, "cannot read the dataset");
}

void Dataset::read_rows(hid_t memory_type, std::int64_t first, std::int64_t count, void* out) const {
  quiet_hdf5();
  if (count == 0) return;
  const RowSelection rows(handle_, info_.shape, first, count);
  if (H5Dread(handle_.get(), memory_type, rows.in_memory.get(), rows.in_file.get(), H5P_DEFAULT, out) < 0)
    unreadable(file_, path_, "cannot read the dataset");
}

void Dataset::read_rows(hid_t memory_type, std::span<const std::int64_t> rows, void* out) const {
  const std::size_t row_bytes =
      H5Tget_size(memory_type) * static_cast<std::size_t>(info_.shape.without_batch().elements());
  for (std::size_t i = 0; i < rows.size();) {  // runs of neighbours are one call
    std::size_t j = i + 1;
    while (j < rows.size() && rows[j] == rows[j - 1] + 1) ++j;
    read_rows(memory_type, rows[i], static_cast<std::int64_t>(j - i),
              static_cast<std::byte*>(out) + i * row_bytes);
    i = j;
  }
}

std::vector<float> Dataset::read_floats() const {
  std::vector<float> values(static_cast<std::size_t>(info_.shape.elements()));
  if (!values.empty()) read(H5T_NATIVE_FLOAT, values.data());
  return values;
}

std::vector<std::int64_t> Dataset::read_integers() const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(info_.shape.elements()));
  if (!values.empty()) read(H5T_NATIVE_INT64, values.data());
  return values;
}

RowWriter::RowWriter(std::string where, DatasetHandle handle, Shape shape)
    : where_(std::move(where)), handle_(std::move(handle)), shape_(std::move(shape)) {}

void RowWriter::append(hid_t memory_type, const void* data, std::int64_t rows) {
  if (next_ + rows > shape_[0]) throw std::logic_error(where_ + ": more rows than the dataset has");
  if (rows == 0) return;
  quiet_hdf5();
  const RowSelection next(handle_, shape_, next_, rows);
  errno = 0;
  must_write(
      H5Dwrite(handle_.get(), memory_type, next.in_memory.get(), next.in_file.get(), H5P_DEFAULT, data) >= 0,
      "H5Dwrite", where_, "");
  next_ += rows;
}

}  // namespace stoker::hdf5
