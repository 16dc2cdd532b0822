#include "lib/checkpoint/shard_file.h"

#include <hdf5.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lib/base/error.h"
#include "lib/base/hash.h"
#include "lib/checkpoint/hdf5_layout.h"
#include "lib/hdf5/hdf5_file.h"

namespace stoker::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

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
  throw SystemError("unknown element type", std::to_string(static_cast<int>(type)), "report this");
}

HostBuffer image_of(const Hdf5Layout& layout) {
  HostBuffer image(layout.bytes());
  std::memcpy(image.data(), layout.structure().data(), layout.structure().size());
  return image;
}

// Fixes where everything lies in the shard that holds these slices: sets their offsets, returns that of the
// index.
std::uint64_t lay_out(Hdf5Layout& layout, std::span<const TensorInfo> tensors, std::vector<Slice>& slices) {
  for (std::size_t i = 0; i < slices.size(); ++i)
    slices[i].offset =
        layout.add_elements("slices/" + std::to_string(i), static_cast<hsize_t>(slices[i].elements()),
                            file_type(tensors[slices[i].tensor].dtype));
  // The index has a fixed length: checksums are 16 digits, whatever their value.
  const std::uint64_t index_offset = layout.add_text("index", to_json(slices).dump().size());
  layout.finish();
  return index_offset;
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

}  // namespace

std::uint64_t shard_bytes(std::span<const TensorInfo> tensors, int rank, int ranks) {
  std::vector<Slice> slices = slices_of_rank(tensors, rank, ranks);
  Hdf5Layout layout(kSealBytes, slices.size() + 1);
  lay_out(layout, tensors, slices);
  return layout.bytes();
}

ShardImage::ShardImage(std::vector<TensorInfo> tensors, int rank, int ranks)
    : tensors_(std::move(tensors)), slices_(slices_of_rank(tensors_, rank, ranks)) {
  Hdf5Layout layout(kSealBytes, slices_.size() + 1);
  index_offset_ = lay_out(layout, tensors_, slices_);
  image_ = image_of(layout);
}

std::size_t ShardImage::bytes_of(const Slice& slice) const {
  return static_cast<std::size_t>(slice.elements()) * size_of(tensors_[slice.tensor].dtype);
}

void ShardImage::fill(std::span<const void* const> data) {
  for (const Slice& slice : slices_) {
    const std::size_t start = static_cast<std::size_t>(slice.begin) * size_of(tensors_[slice.tensor].dtype);
    std::memcpy(image_.data() + slice.offset, static_cast<const std::byte*>(data[slice.tensor]) + start,
                bytes_of(slice));
  }
}

void ShardImage::write(const std::string& path, Seal& seal) {
  for (Slice& slice : slices_) slice.checksum = hash64(image_.data() + slice.offset, bytes_of(slice));
  const std::string index = to_json(slices_).dump();
  std::memcpy(image_.data() + index_offset_, index.data(), index.size());
  write_sealed(path, image_.span_of<std::byte>(), seal);
}

std::vector<Slice> read_shard_index(const std::string& path) {
  try {
    return slices_from_json(nlohmann::json::parse(read_text(path, "index")));
  } catch (const nlohmann::json::exception& error) {
    throw UserError("not the index of a shard", path, error.what());
  }
}

void write_manifest(const std::string& path, const Index& index, const std::string& state, Seal seal) {
  const std::string index_text = to_json(index).dump();
  Hdf5Layout layout(kSealBytes, 2);
  const std::uint64_t index_offset = layout.add_text("index", index_text.size());
  const std::uint64_t state_offset = layout.add_text("state", state.size());
  layout.finish();
  const HostBuffer image = image_of(layout);
  std::memcpy(image.data() + index_offset, index_text.data(), index_text.size());
  std::memcpy(image.data() + state_offset, state.data(), state.size());
  write_sealed(path, image.span_of<std::byte>(), seal);
}

ManifestText read_manifest_text(const std::string& path) {
  return {read_text(path, "index"), read_text(path, "state")};
}

}  // namespace stoker::checkpoint
