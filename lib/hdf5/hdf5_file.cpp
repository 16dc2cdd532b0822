#include "lib/hdf5/hdf5_file.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "lib/base/error.h"

namespace stoker::hdf5 {
namespace {

std::string joined(const std::string& file, const std::string& path) {
  return path.empty() || path == "/" ? file : file + ": " + (path[0] == '/' ? path : "/" + path);
}

[[noreturn]] void unreadable(const std::string& file, const std::string& path, std::string_view what) {
  throw UserError(what, joined(file, path),
                  "the file may be truncated or damaged; check it with h5dump, or make it again");
}

// A failing HDF5 call that writes: HDF5 keeps errno of the failed write(2).
void must_write(bool ok, std::string_view call, const std::string& file, const std::string& path) {
  if (ok) return;
  const int code = errno;
  const std::string detail =
      joined(file, path) + (code != 0 ? std::string(": ") + std::strerror(code) : std::string());
  throw SystemError(std::string(call) + " failed", detail,
                    code == ENOSPC || code == EDQUOT ? "free some space and run it again" : "check the disk");
}

PropertyHandle access_without_locks() {
  PropertyHandle access(H5Pcreate(H5P_FILE_ACCESS));
#if H5_VERSION_GE(1, 10, 7)
  H5Pset_file_locking(access.get(), false, true);
#endif
  return access;
}

bool link_chain_exists(hid_t file, const std::string& path) {
  if (path.empty() || path == "/") return true;
  std::size_t end = path[0] == '/' ? 1 : 0;
  for (;;) {
    end = path.find('/', end);
    const std::string head = path.substr(0, end);
    if (!head.empty() && H5Lexists(file, head.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) return H5Oexists_by_name(file, path.c_str(), H5P_DEFAULT) > 0;
    ++end;
  }
}

std::string object_path(const std::string& path) { return path.empty() ? "/" : path; }

ObjectHandle open_object(const File& file, const std::string& path) {
  quiet_hdf5();
  if (!link_chain_exists(file.id(), path)) return ObjectHandle();
  return ObjectHandle(H5Oopen(file.id(), object_path(path).c_str(), H5P_DEFAULT));
}

AttributeHandle open_attribute(const ObjectHandle& object, const std::string& name) {
  if (!object || H5Aexists(object.get(), name.c_str()) <= 0) return AttributeHandle();
  return AttributeHandle(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT));
}

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

// All strings of an attribute, fixed- or variable-length.
std::vector<std::string> read_strings(const AttributeHandle& attribute, const std::string& where) {
  const TypeHandle type(H5Aget_type(attribute.get()));
  const SpaceHandle space(H5Aget_space(attribute.get()));
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0) unreadable(where, "", "cannot read an attribute");
  std::vector<std::string> values(static_cast<std::size_t>(count));
  if (count == 0 || H5Tget_class(type.get()) != H5T_STRING) return {};
  if (H5Tis_variable_str(type.get()) > 0) {
    std::vector<char*> pointers(values.size(), nullptr);
    const TypeHandle memory(H5Tcopy(H5T_C_S1));
    H5Tset_size(memory.get(), H5T_VARIABLE);
    H5Tset_cset(memory.get(), H5Tget_cset(type.get()));
    if (H5Aread(attribute.get(), memory.get(), pointers.data()) < 0)
      unreadable(where, "", "cannot read an attribute");
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = pointers[i] != nullptr ? pointers[i] : "";
    H5Dvlen_reclaim(memory.get(), space.get(), H5P_DEFAULT, pointers.data());
    return values;
  }
  const std::size_t width = H5Tget_size(type.get());
  std::string bytes(width * values.size(), '\0');
  if (H5Aread(attribute.get(), type.get(), bytes.data()) < 0)
    unreadable(where, "", "cannot read an attribute");
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = bytes.substr(i * width, width);
    values[i].resize(std::strlen(values[i].c_str()));
  }
  return values;
}

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

std::vector<hsize_t> extents(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

}  // namespace

void quiet_hdf5() {
  // HDF5 closes what is open when the process exits, and crashes there if a file could not be closed before (a full disk).
  static const bool no_exit_handler = H5dont_atexit() >= 0;
  static_cast<void>(no_exit_handler);
  thread_local const bool done = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(done);
}

std::string library_version() {
  quiet_hdf5();
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

bool looks_like_hdf5(const std::string& file) {
  char head[8] = {};
  std::ifstream in(file, std::ios::binary);
  return in.read(head, sizeof head) && std::memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
}

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
  std::vector<hsize_t> size = extents(info_.shape), start(size.size(), 0);
  size[0] = static_cast<hsize_t>(count);
  start[0] = static_cast<hsize_t>(first);
  const SpaceHandle file_space(H5Dget_space(handle_.get()));
  const SpaceHandle memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr));
  if (H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr) <
          0 ||
      H5Dread(handle_.get(), memory_type, memory.get(), file_space.get(), H5P_DEFAULT, out) < 0)
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

File File::open(const std::string& path) {
  quiet_hdf5();
  const PropertyHandle access = access_without_locks();
  FileHandle handle(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!handle) {
    if (!std::ifstream(path))
      throw UserError("cannot read the file", path, "check the path and its permissions");
    throw UserError("not a whole HDF5 file", path,
                    "it may be truncated or another kind of file; make or copy it again");
  }
  return File(path, std::move(handle));
}

File File::from_memory(std::string name, std::string content) {
  quiet_hdf5();
  const PropertyHandle access(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(access.get(), 1 << 16, false);
  H5Pset_file_image(access.get(), content.data(), content.size());
  FileHandle handle(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()));
  if (!handle)
    throw UserError("not a whole HDF5 file", name, "the archive may be damaged; make or copy it again");
  return File(std::move(name), std::move(handle));
}

File File::create(const std::string& path) {
  quiet_hdf5();
  errno = 0;
  const PropertyHandle access = access_without_locks();
  FileHandle handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
  must_write(static_cast<bool>(handle), "H5Fcreate", path, "");
  return File(path, std::move(handle));
}

bool File::exists(const std::string& path) const {
  quiet_hdf5();
  return link_chain_exists(id(), path);
}

bool File::is_group(const std::string& path) const {
  const ObjectHandle object = open_object(*this, path);
  return object && H5Iget_type(object.get()) == H5I_GROUP;
}

std::vector<std::string> File::children(const std::string& group) const {
  std::vector<std::string> names;
  const ObjectHandle object = open_object(*this, group);
  if (!object || H5Iget_type(object.get()) != H5I_GROUP) unreadable(name_, group, "no such group");
  hsize_t index = 0;
  if (H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &index, collect_name, &names) < 0)
    unreadable(name_, group, "cannot list the group");
  return names;
}

std::vector<std::string> File::datasets() const {
  quiet_hdf5();
  // H5Lvisit enters each group once, so links that lead back end.
  std::vector<std::string> links, paths;
  if (H5Lvisit(id(), H5_INDEX_NAME, H5_ITER_NATIVE, collect_name, &links) < 0)
    unreadable(name_, "", "cannot list the file");
  for (const std::string& path : links) {
    const ObjectHandle object = open_object(*this, path);
    // What is there and cannot be opened is listed too: whoever asks for it is told.
    if (object ? H5Iget_type(object.get()) == H5I_DATASET : exists(path)) paths.push_back(path);
  }
  return paths;
}

Dataset File::dataset(const std::string& path) const {
  quiet_hdf5();
  if (!link_chain_exists(id(), path)) unreadable(name_, path, "no such dataset");
  DatasetHandle handle(H5Dopen2(id(), path.c_str(), H5P_DEFAULT));
  if (!handle)
    throw UserError("cannot open the dataset", joined(name_, path),
                    "it may be damaged, or written in a newer format than HDF5 " + library_version() +
                        " reads (libver='latest')");
  return Dataset(name_, path, std::move(handle));
}

bool File::has_attribute(const std::string& path, const std::string& name) const {
  const ObjectHandle object = open_object(*this, path);
  return object && H5Aexists(object.get(), name.c_str()) > 0;
}

std::optional<std::string> File::text_attribute(const std::string& path, const std::string& name) const {
  const ObjectHandle object = open_object(*this, path);
  const AttributeHandle attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  std::vector<std::string> values = read_strings(attribute, joined(name_, path) + "@" + name);
  if (values.empty()) return std::nullopt;
  return std::move(values[0]);
}

std::optional<std::vector<std::string>> File::text_list_attribute(const std::string& path,
                                                                  const std::string& name) const {
  const ObjectHandle object = open_object(*this, path);
  const std::string where = joined(name_, path) + "@" + name;
  if (const AttributeHandle attribute = open_attribute(object, name)) return read_strings(attribute, where);
  std::optional<std::vector<std::string>> all;
  for (int part = 0;; ++part) {
    const AttributeHandle attribute = open_attribute(object, name + std::to_string(part));
    if (!attribute) return all;
    if (!all) all.emplace();
    for (std::string& value : read_strings(attribute, where)) all->push_back(std::move(value));
  }
}

std::optional<std::int64_t> File::integer_attribute(const std::string& path, const std::string& name) const {
  const ObjectHandle object = open_object(*this, path);
  const AttributeHandle attribute = open_attribute(object, name);
  std::int64_t value = 0;
  if (!attribute) return std::nullopt;
  const SpaceHandle space(H5Aget_space(attribute.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(attribute.get(), H5T_NATIVE_INT64, &value) < 0)
    unreadable(name_, path, "cannot read the attribute " + name);
  return value;
}

void File::make_group(const std::string& path) {
  if (path.empty() || path == "/" || exists(path)) return;
  errno = 0;
  const PropertyHandle links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const GroupHandle group(H5Gcreate2(id(), path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
  must_write(static_cast<bool>(group), "H5Gcreate", name_, path);
}

void File::write_text_attribute(const std::string& path, const std::string& name, const std::string& value) {
  errno = 0;
  const ObjectHandle object = open_object(*this, path);
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle attribute(
      H5Acreate2(object.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
  const char* pointer = value.c_str();
  must_write(attribute && H5Awrite(attribute.get(), type.get(), &pointer) >= 0, "H5Awrite", name_, path);
}

void File::write_integer_attribute(const std::string& path, const std::string& name, std::int64_t value) {
  errno = 0;
  const ObjectHandle object = open_object(*this, path);
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const AttributeHandle attribute(
      H5Acreate2(object.get(), name.c_str(), H5T_STD_I64LE, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  must_write(attribute && H5Awrite(attribute.get(), H5T_NATIVE_INT64, &value) >= 0, "H5Awrite", name_, path);
}

void File::write_text_list_attribute(const std::string& path, const std::string& name,
                                     const std::vector<std::string>& values) {
  constexpr std::size_t kLimit = 64512;  // HDF5 keeps an object's header, attributes included, within 64 KB
  errno = 0;
  const ObjectHandle object = open_object(*this, path);
  const auto write_part = [&](const std::string& part_name, std::span<const std::string> part) {
    hsize_t count = part.size();
    const SpaceHandle space(H5Screate_simple(1, &count, nullptr));
    TypeHandle type(part.empty() ? H5Tcopy(H5T_IEEE_F64LE) : H5Tcopy(H5T_C_S1));
    std::size_t width = 1;
    for (const std::string& value : part) width = std::max(width, value.size());
    if (!part.empty()) {
      H5Tset_size(type.get(), width);
      H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
    }
    const AttributeHandle attribute(
        H5Acreate2(object.get(), part_name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT));
    std::string bytes(width * part.size(), '\0');
    for (std::size_t i = 0; i < part.size(); ++i) bytes.replace(i * width, part[i].size(), part[i]);
    must_write(attribute && (part.empty() || H5Awrite(attribute.get(), type.get(), bytes.data()) >= 0),
               "H5Awrite", name_, path);
  };
  std::size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  const std::size_t per_part = std::max<std::size_t>(1, kLimit / width);
  if (values.size() <= per_part) return write_part(name, values);
  for (std::size_t begin = 0, part = 0; begin < values.size(); begin += per_part, ++part)
    write_part(name + std::to_string(part),
               std::span(values).subspan(begin, std::min(per_part, values.size() - begin)));
}

DatasetHandle File::create_dataset(const std::string& path, const Shape& shape, hid_t file_type) {
  errno = 0;
  const std::vector<hsize_t> dims = extents(shape);
  const SpaceHandle space(shape.rank() == 0
                              ? H5Screate(H5S_SCALAR)
                              : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
  const PropertyHandle links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  DatasetHandle dataset(
      H5Dcreate2(id(), path.c_str(), file_type, space.get(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
  must_write(static_cast<bool>(dataset), "H5Dcreate", name_, path);
  return dataset;
}

void File::write(const std::string& path, const Shape& shape, hid_t file_type, hid_t memory_type,
                 const void* data) {
  quiet_hdf5();
  const DatasetHandle dataset = create_dataset(path, shape, file_type);
  errno = 0;
  if (shape.elements() > 0)
    must_write(H5Dwrite(dataset.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "H5Dwrite",
               name_, path);
}

void File::write_in_pieces(const std::string& path, const Shape& shape, hid_t file_type, hid_t memory_type,
                           const void* data, std::size_t element_bytes, std::size_t piece_bytes) {
  quiet_hdf5();
  if (shape.rank() == 0) return write(path, shape, file_type, memory_type, data);
  const std::size_t row_bytes = element_bytes * static_cast<std::size_t>(shape.without_batch().elements());
  const auto step =
      static_cast<std::int64_t>(std::max<std::size_t>(1, piece_bytes / std::max<std::size_t>(row_bytes, 1)));
  RowWriter rows = create_rows(path, shape, file_type);
  for (std::int64_t row = 0; row < shape[0] && row_bytes > 0; row += step)
    rows.append(memory_type, static_cast<const std::byte*>(data) + static_cast<std::size_t>(row) * row_bytes,
                std::min(step, shape[0] - row));
}

RowWriter File::create_rows(const std::string& path, const Shape& shape, hid_t file_type) {
  quiet_hdf5();
  return RowWriter(joined(name_, path), create_dataset(path, shape, file_type), shape);
}

RowWriter::RowWriter(std::string where, DatasetHandle handle, Shape shape)
    : where_(std::move(where)), handle_(std::move(handle)), shape_(std::move(shape)) {}

void RowWriter::append(hid_t memory_type, const void* data, std::int64_t rows) {
  if (next_ + rows > shape_[0]) throw std::logic_error(where_ + ": more rows than the dataset has");
  if (rows == 0) return;
  quiet_hdf5();
  std::vector<hsize_t> size = extents(shape_), start(size.size(), 0);
  size[0] = static_cast<hsize_t>(rows);
  start[0] = static_cast<hsize_t>(next_);
  const SpaceHandle file_space(H5Dget_space(handle_.get()));
  const SpaceHandle memory(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr));
  H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  errno = 0;
  must_write(H5Dwrite(handle_.get(), memory_type, memory.get(), file_space.get(), H5P_DEFAULT, data) >= 0,
             "H5Dwrite", where_, "");
  next_ += rows;
}

void File::close() {
  quiet_hdf5();
  errno = 0;
  must_write(H5Fflush(id(), H5F_SCOPE_LOCAL) >= 0, "H5Fflush", name_, "");
  must_write(H5Fclose(handle_.release()) >= 0, "H5Fclose", name_, "");
}

}  // namespace stoker::hdf5
