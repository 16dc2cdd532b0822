#include "lib/hdf5/hdf5_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "lib/base/error.h"
#include "lib/hdf5/hdf5_errors.h"

namespace stoker::hdf5 {
namespace {

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

herr_t collect_name(hid_t, const char* name, const H5L_info_t*, void* out) {
  static_cast<std::vector<std::string>*>(out)->emplace_back(name);
  return 0;
}

}  // namespace

bool looks_like_hdf5(const std::string& file) {
  char head[8] = {};
  std::ifstream in(file, std::ios::binary);
  return in.read(head, sizeof head) && std::memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
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

ObjectHandle File::open_object(const std::string& path) const {
  if (!exists(path)) return ObjectHandle();
  return ObjectHandle(H5Oopen(id(), path.empty() ? "/" : path.c_str(), H5P_DEFAULT));
}

bool File::exists(const std::string& path) const {
  quiet_hdf5();
  return link_chain_exists(id(), path);
}

bool File::is_group(const std::string& path) const {
  const ObjectHandle object = open_object(path);
  return object && H5Iget_type(object.get()) == H5I_GROUP;
}

std::vector<std::string> File::children(const std::string& group) const {
  std::vector<std::string> names;
  const ObjectHandle object = open_object(group);
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
    const ObjectHandle object = open_object(path);
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

void File::make_group(const std::string& path) {
  if (path.empty() || path == "/" || exists(path)) return;
  errno = 0;
  const PropertyHandle links(H5Pcreate(H5P_LINK_CREATE));
  H5Pset_create_intermediate_group(links.get(), 1);
  const GroupHandle group(H5Gcreate2(id(), path.c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT));
  must_write(static_cast<bool>(group), "H5Gcreate", name_, path);
}

DatasetHandle File::create_dataset(const std::string& path, const Shape& shape, hid_t file_type) {
  errno = 0;
  const std::vector<hsize_t> dims(shape.dims().begin(), shape.dims().end());
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

void File::close() {
  quiet_hdf5();
  errno = 0;
  must_write(H5Fflush(id(), H5F_SCOPE_LOCAL) >= 0, "H5Fflush", name_, "");
  must_write(H5Fclose(handle_.release()) >= 0, "H5Fclose", name_, "");
}

}  // namespace stoker::hdf5
