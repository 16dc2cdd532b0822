#include "lib/checkpoint/hdf5_layout.h"

#include <algorithm>
#include <exception>

#include "lib/base/error.h"

namespace stoker::checkpoint {
namespace {

// Enough for a dataset's object header, symbol table entry and name, and for the root group.
constexpr std::size_t kStructurePerDataset = 1024, kStructureOfRoot = 4096;
constexpr std::size_t kGrowth = 4096;  // of the image in memory, at least

void must(bool ok, const char* call) {
  if (!ok)
    throw SystemError(std::string(call) + " failed", "an HDF5 file in memory", "is there memory left?");
}

// HDF5's in-memory driver lets its user own the memory ("file image callbacks"). Only these operations occur
// for a file that starts empty.
extern "C" {
static void* grow_image(void*, size_t bytes, H5FD_file_image_op_t, void* image) {
  try {
    static_cast<std::vector<char>*>(image)->resize(bytes);
    return static_cast<std::vector<char>*>(image)->data();
  } catch (const std::exception&) {
    return nullptr;
  }
}
static herr_t keep_image(void*, H5FD_file_image_op_t, void*) { return 0; }
static void* same_image(void* image) { return image; }
static herr_t release_nothing(void*) { return 0; }
}

}  // namespace

Hdf5Layout::Hdf5Layout(std::size_t user_block, std::size_t datasets) {
  hdf5::quiet_hdf5();
  const hdf5::PropertyHandle creation(H5Pcreate(H5P_FILE_CREATE)), access(H5Pcreate(H5P_FILE_ACCESS));
  H5FD_file_image_callbacks_t callbacks{nullptr,    nullptr,         grow_image, keep_image,
                                        same_image, release_nothing, &structure_};
  must(H5Pset_userblock(creation.get(), user_block) >= 0, "H5Pset_userblock");
  must(H5Pset_fapl_core(access.get(), kGrowth, /*backing_store=*/false) >= 0, "H5Pset_fapl_core");
  must(H5Pset_file_image_callbacks(access.get(), &callbacks) >= 0, "H5Pset_file_image_callbacks");
  // All structure in one block at the front, so that the image need not reach over the elements.
  must(H5Pset_meta_block_size(access.get(), kStructureOfRoot + kStructurePerDataset * datasets) >= 0,
       "H5Pset_meta_block_size");
  file_.reset(H5Fcreate("checkpoint", H5F_ACC_TRUNC, creation.get(), access.get()));
  must(static_cast<bool>(file_), "H5Fcreate");
}

std::uint64_t Hdf5Layout::add_elements(const std::string& name, hsize_t count, hid_t file_type) {
  const hdf5::SpaceHandle space(H5Screate_simple(1, &count, nullptr));
  const hdf5::PropertyHandle creation(H5Pcreate(H5P_DATASET_CREATE)), links(H5Pcreate(H5P_LINK_CREATE));
  must(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY) >= 0, "H5Pset_alloc_time");
  must(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER) >= 0, "H5Pset_fill_time");
  must(H5Pset_create_intermediate_group(links.get(), 1) >= 0, "H5Pset_create_intermediate_group");
  const hdf5::DatasetHandle dataset(H5Dcreate2(file_.get(), name.c_str(), file_type, space.get(), links.get(),
                                               creation.get(), H5P_DEFAULT));
  must(static_cast<bool>(dataset), "H5Dcreate");
  const haddr_t offset = H5Dget_offset(dataset.get());
  must(offset != HADDR_UNDEF, "H5Dget_offset");
  return offset;
}

std::uint64_t Hdf5Layout::add_text(const std::string& name, std::size_t bytes) {
  const hdf5::TypeHandle type(H5Tcopy(H5T_C_S1));
  must(H5Tset_size(type.get(), bytes) >= 0, "H5Tset_size");
  must(H5Tset_strpad(type.get(), H5T_STR_NULLPAD) >= 0, "H5Tset_strpad");
  must(H5Tset_cset(type.get(), H5T_CSET_UTF8) >= 0, "H5Tset_cset");
  return add_elements(name, 1, type.get());
}

void Hdf5Layout::finish() {
  // Asked before closing, which writes structure but allocates none: a file may be longer than HDF5 needs,
  // not shorter.
  hsize_t bytes = 0;
  must(H5Fget_filesize(file_.get(), &bytes) >= 0, "H5Fget_filesize");
  must(H5Fclose(file_.release()) >= 0, "H5Fclose");
  bytes_ = std::max<std::uint64_t>(bytes, structure_.size());
}

}  // namespace stoker::checkpoint
