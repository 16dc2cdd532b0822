// The attributes of hdf5_file.h.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "lib/hdf5/hdf5_errors.h"
#include "lib/hdf5/hdf5_file.h"

namespace stoker::hdf5 {
namespace {

AttributeHandle open_attribute(const ObjectHandle& object, const std::string& name) {
  if (!object || H5Aexists(object.get(), name.c_str()) <= 0) return AttributeHandle();
  return AttributeHandle(H5Aopen(object.get(), name.c_str(), H5P_DEFAULT));
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

// Bytes of the longest string, at least 1: HDF5 has no strings of 0 bytes.
std::size_t longest(std::span<const std::string> values) {
  std::size_t width = 1;
  for (const std::string& value : values) width = std::max(width, value.size());
  return width;
}

// Makes the attribute and writes `data` into it, if not null; whether both went well.
bool add_attribute(const ObjectHandle& object, const std::string& name, hid_t type, const SpaceHandle& space,
                   hid_t memory_type, const void* data) {
  const AttributeHandle attribute(
      H5Acreate2(object.get(), name.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT));
  return attribute && (data == nullptr || H5Awrite(attribute.get(), memory_type, data) >= 0);
}

// The same for an array of strings of one length; an empty one is of float64.
bool add_strings(const ObjectHandle& object, const std::string& name, std::span<const std::string> values) {
  const hsize_t count = values.size();
  const SpaceHandle space(H5Screate_simple(1, &count, nullptr));
  if (values.empty()) return add_attribute(object, name, H5T_IEEE_F64LE, space, H5T_IEEE_F64LE, nullptr);
  const std::size_t width = longest(values);
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), width);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  std::string bytes(width * values.size(), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) bytes.replace(i * width, values[i].size(), values[i]);
  return add_attribute(object, name, type.get(), space, type.get(), bytes.data());
}

}  // namespace

bool File::has_attribute(const std::string& path, const std::string& name) const {
  const ObjectHandle object = open_object(path);
  return object && H5Aexists(object.get(), name.c_str()) > 0;
}

std::optional<std::string> File::text_attribute(const std::string& path, const std::string& name) const {
  const ObjectHandle object = open_object(path);
  const AttributeHandle attribute = open_attribute(object, name);
  if (!attribute) return std::nullopt;
  std::vector<std::string> values = read_strings(attribute, joined(name_, path) + "@" + name);
  if (values.empty()) return std::nullopt;
  return std::move(values[0]);
}

std::optional<std::vector<std::string>> File::text_list_attribute(const std::string& path,
                                                                  const std::string& name) const {
  const ObjectHandle object = open_object(path);
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
  const ObjectHandle object = open_object(path);
  const AttributeHandle attribute = open_attribute(object, name);
  std::int64_t value = 0;
  if (!attribute) return std::nullopt;
  const SpaceHandle space(H5Aget_space(attribute.get()));
  if (H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(attribute.get(), H5T_NATIVE_INT64, &value) < 0)
    unreadable(name_, path, "cannot read the attribute " + name);
  return value;
}

void File::write_text_attribute(const std::string& path, const std::string& name, const std::string& value) {
  errno = 0;
  const ObjectHandle object = open_object(path);
  const TypeHandle type(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  const char* pointer = value.c_str();
  must_write(add_attribute(object, name, type.get(), space, type.get(), &pointer), "H5Awrite", name_, path);
}

void File::write_integer_attribute(const std::string& path, const std::string& name, std::int64_t value) {
  errno = 0;
  const ObjectHandle object = open_object(path);
  const SpaceHandle space(H5Screate(H5S_SCALAR));
  must_write(add_attribute(object, name, H5T_STD_I64LE, space, H5T_NATIVE_INT64, &value), "H5Awrite", name_,
             path);
}

void File::write_text_list_attribute(const std::string& path, const std::string& name,
                                     const std::vector<std::string>& values) {
  constexpr std::size_t kLimit = 64512;  // HDF5 keeps an object's header, attributes included, within 64 KB
  errno = 0;
  const ObjectHandle object = open_object(path);
  const auto write_part = [&](const std::string& part_name, std::span<const std::string> part) {
    must_write(add_strings(object, part_name, part), "H5Awrite", name_, path);
  };
  const std::size_t per_part = std::max<std::size_t>(1, kLimit / longest(values));
  if (values.size() <= per_part) return write_part(name, values);
  for (std::size_t begin = 0, part = 0; begin < values.size(); begin += per_part, ++part)
    write_part(name + std::to_string(part),
               std::span(values).subspan(begin, std::min(per_part, values.size() - begin)));
}

}  // namespace stoker::hdf5
