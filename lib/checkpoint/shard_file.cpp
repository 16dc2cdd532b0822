#include "lib/checkpoint/shard_file.h"

#include <fcntl.h>
#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "lib/base/error.h"
#include "lib/base/handle.h"
#include "lib/base/hash.h"
#include "lib/hdf5/hdf5_file.h"

namespace stoker::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

void must(bool ok, const char* call, const std::string& path) {
  if (ok) return;
  if (errno != 0) throw_errno(call, path);
  throw SystemError(std::string(call) + " failed", path);
}

hid_t file_type(DType type) {
  switch (type) {
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::f64:
      return H5T_IEEE_F64LE;
    case DType::bf16:
    case DType::f16:
      return H5T_STD_U16LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::i64:
      return H5T_STD_I64LE;
    case DType::u8:
      return H5T_STD_U8LE;
  }
  throw SystemError("element type", std::to_string(static_cast<int>(type)), "report this");
}

// An HDF5 file being laid out behind room for a seal. Every call is checked; finish() closes it.
class Layout {
 public:
  explicit Layout(const std::string& path) : path_(path) {
    hdf5::quiet_hdf5();
    errno = 0;
    const hdf5::PropertyHandle creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
    must(H5Pset_userblock(creation.get(), kSealBytes) >= 0, "H5Pset_userblock", path_);
    must(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) >= 0, "H5Pset_fclose_degree", path_);
#if H5_VERSION_GE(1, 10, 7)
    must(H5Pset_file_locking(access.get(), false, true) >= 0, "H5Pset_file_locking", path_);
#endif
    file_.reset(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    must(static_cast<bool>(file_), "H5Fcreate", path_);
  }

  // A contiguous dataset whose place in the file is fixed now and whose elements HDF5 does not write; returns that place.
  std::uint64_t add_elements(const std::string& name, hsize_t count, hid_t type) {
    errno = 0;
    const hdf5::SpaceHandle space(H5Screate_simple(1, &count, nullptr));
    const hdf5::PropertyHandle creation(H5Pcreate(H5P_DATASET_CREATE)), links(H5Pcreate(H5P_LINK_CREATE));
    must(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY) >= 0, "H5Pset_alloc_time", path_);
    must(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) >= 0, "H5Pset_fill_time", path_);
    must(H5Pset_create_intermediate_group(links.get(), 1) >= 0, "H5Pset_create_intermediate_group", path_);
    const hdf5::DatasetHandle dataset(
        H5Dcreate2(file_.get(), name.c_str(), type, space.get(), links.get(), creation.get(), H5P_DEFAULT));
    must(static_cast<bool>(dataset), "H5Dcreate", path_);
    const haddr_t offset = H5Dget_offset(dataset.get());
    must(offset != HADDR_UNDEF, "H5Dget_offset", path_);
    return offset;
  }

  // One fixed-length UTF-8 text, whose bytes the caller writes too; at least one byte long.
  std::uint64_t add_text(const std::string& name, std::size_t bytes) {
    errno = 0;
    const hdf5::TypeHandle type(H5Tcopy(H5T_C_S1));
    must(H5Tset_size(type.get(), bytes) >= 0, "H5Tset_size", path_);
    must(H5Tset_strpad(type.get(), H5T_STR_NULLPAD) >= 0, "H5Tset_strpad", path_);
    must(H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0, "H5Tset_cset", path_);
    return add_elements(name, 1, type.get());
  }

  // The file's size is now that of everything laid out. A close that fails has given up the file all the same: the
  // handle is not closed a second time.
  void finish() {
    errno = 0;
    must(H5Fflush(file_.get(), H5F_SCOPE_LOCAL) >= 0, "H5Fflush", path_);
    must(H5Fclose(file_.release()) >= 0, "H5Fclose", path_);
  }

 private:
  std::string path_;
  hdf5::FileHandle file_;
};

FileDescriptor reopen(const std::string& path) {
  FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) throw_errno("open", path);
  return fd;
}

void close_checked(FileDescriptor& fd, const std::string& path) {
  if (::close(fd.release()) != 0) throw_errno("close", path);
}

// Takes the room that the file will need now, so that a full disk is found before gigabytes have been written. File systems that cannot are
// left alone.
void reserve(int fd, const std::string& path) {
  const off_t bytes = ::lseek(fd, 0, SEEK_END);
  if (bytes <= 0 || ::fallocate(fd, 0, 0, bytes) == 0) return;
  if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) throw_errno("fallocate", path);
}

std::string read_text(const std::string& path, const std::string& name) {
  const hdf5::File file = hdf5::File::open(path);
  const hdf5::Dataset dataset = file.dataset(name);
  const hdf5::TypeHandle type(H5Dget_type(dataset.id()));
  if (dataset.info().kind != hdf5::Kind::text || dataset.info().shape.elements() != 1)
    throw UserError("not text", dataset.where(), "the file is damaged; take another checkpoint");
  std::string text(dataset.info().element_bytes, '\0');
  dataset.read(type.get(), text.data());
  return text;
}

std::string slice_name(std::size_t number) { return "slices/" + std::to_string(number); }

}  // namespace

void write_shard(const std::string& path, std::span<const TensorInfo> tensors, std::vector<Slice>& slices,
                 const std::byte* data, Seal& seal) {
  const auto bytes_of = [&](const Slice& slice) {
    return static_cast<std::size_t>(slice.elements()) * size_of(tensors[slice.tensor].dtype);
  };
  Layout layout(path);
  const std::byte* at = data;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    Slice& slice = slices[i];
    const DType type = tensors[slice.tensor].dtype;
    slice.offset =
        layout.add_elements(slice_name(i), static_cast<hsize_t>(slice.elements()), file_type(type));
    slice.checksum = hash64(at, bytes_of(slice));
    at += bytes_of(slice);
  }
  const std::string index = to_json(slices).dump();
  const std::uint64_t index_offset = layout.add_text("index", index.size());
  layout.finish();

  FileDescriptor fd = reopen(path);
  reserve(fd.get(), path);
  write_at(fd.get(), path, index.data(), index.size(), index_offset);
  at = data;
  for (const Slice& slice : slices) {
    write_at(fd.get(), path, at, bytes_of(slice), slice.offset);
    at += bytes_of(slice);
  }
  write_seal(fd.get(), path, seal);
  close_checked(fd, path);
}

std::vector<Slice> read_shard_index(const std::string& path) {
  try {
    return slices_from_json(nlohmann::json::parse(read_text(path, "index")));
  } catch (const nlohmann::json::exception& error) {
    throw UserError("not the index of a shard", path, error.what());
  }
}

void write_manifest(const std::string& path, const Index& index, const std::string& state, Seal& seal) {
  const std::string index_text = to_json(index).dump();
  Layout layout(path);
  const std::uint64_t index_offset = layout.add_text("index", index_text.size());
  const std::uint64_t state_offset = layout.add_text("state", state.size());
  layout.finish();
  FileDescriptor fd = reopen(path);
  write_at(fd.get(), path, index_text.data(), index_text.size(), index_offset);
  write_at(fd.get(), path, state.data(), state.size(), state_offset);
  write_seal(fd.get(), path, seal);
  close_checked(fd, path);
}

ManifestText read_manifest_text(const std::string& path) {
  return {read_text(path, "index"), read_text(path, "state")};
}

}  // namespace stoker::checkpoint
