// HDF5: any dataset of numbers whose first axis counts samples.
//
// Contiguous datasets are read in place with pread, past the library and its lock. Chunked ones are read
// through the library, the rows of a read in rising order, with a chunk cache that is never smaller than two
// chunks.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/data/formats.h"
#include "lib/hdf5/hdf5_file.h"

namespace stoker::data {
namespace {

constexpr std::uint64_t kChunkCache = std::uint64_t{128} << 20;
constexpr std::size_t kListed = 20;  // datasets that an error message lists

bool is_ieee_half(hid_t type) {
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, fraction = 0, fraction_bits = 0;
  return H5Tget_fields(type, &sign, &exponent, &exponent_bits, &fraction, &fraction_bits) >= 0 &&
         sign == 15 && exponent == 10 && exponent_bits == 5 && fraction == 0 && fraction_bits == 10;
}

std::optional<ElementKind> element_kind(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: {
      const bool sign = H5Tget_sign(type) != H5T_SGN_NONE;
      if (H5Tget_precision(type) != 8 * bytes) return std::nullopt;
      if (bytes == 1) return sign ? ElementKind::i8 : ElementKind::u8;
      if (bytes == 2) return sign ? ElementKind::i16 : ElementKind::u16;
      if (bytes == 4) return sign ? ElementKind::i32 : ElementKind::u32;
      if (bytes == 8) return sign ? ElementKind::i64 : ElementKind::u64;
      return std::nullopt;
    }
    case H5T_FLOAT:
      if (H5Tequal(type, H5T_IEEE_F32LE) > 0 || H5Tequal(type, H5T_IEEE_F32BE) > 0) return ElementKind::f32;
      if (H5Tequal(type, H5T_IEEE_F64LE) > 0 || H5Tequal(type, H5T_IEEE_F64BE) > 0) return ElementKind::f64;
      return bytes == 2 && is_ieee_half(type) ? std::optional(ElementKind::f16) : std::nullopt;
    case H5T_ENUM: {  // h5py stores booleans as an enumeration of two
      const hdf5::TypeHandle base(H5Tget_super(type));
      if (bytes == 1 && H5Tget_nmembers(type) == 2) return ElementKind::boolean;
      return base ? element_kind(base.get()) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

Element element_of(hid_t type, const std::string& where) {
  const auto kind = element_kind(type);
  if (!kind)
    throw UserError("the dataset holds no numbers that can be read", where,
                    "integers of up to 64 bits, booleans and floats of 16, 32 or 64 bits are");
  const hdf5::TypeHandle base(H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type));
  return {*kind, H5Tget_size(base.get()) > 1 && H5Tget_order(base.get()) != H5Tget_order(H5T_NATIVE_INT)};
}

class Hdf5Records : public Records {
 public:
  Hdf5Records(ArrayInfo info, std::shared_ptr<const hdf5::File> file, hdf5::Dataset dataset,
              hdf5::TypeHandle type)
      : Records(std::move(info)),
        file_(std::move(file)),
        dataset_(std::move(dataset)),
        type_(std::move(type)) {}

  void read(std::span<const std::int64_t> indices, std::byte* out, Scratch& scratch) const override {
    const std::size_t size = info().record_bytes;
    if (std::adjacent_find(indices.begin(), indices.end(), std::greater_equal<>()) == indices.end()) {
      dataset_.read_rows(type_.get(), indices, out);
      return;
    }
    scratch.order.assign(indices.begin(), indices.end());
    std::sort(scratch.order.begin(), scratch.order.end());
    scratch.order.erase(std::unique(scratch.order.begin(), scratch.order.end()), scratch.order.end());
    scratch.ordered_bytes.resize(scratch.order.size() * size);
    dataset_.read_rows(type_.get(), scratch.order, scratch.ordered_bytes.data());
    for (const std::int64_t index : indices) {
      const auto found =
          std::lower_bound(scratch.order.begin(), scratch.order.end(), index) - scratch.order.begin();
      std::memcpy(out, scratch.ordered_bytes.data() + static_cast<std::size_t>(found) * size, size);
      out += size;
    }
  }
  bool is_slow() const override { return dataset_.info().chunked; }

 private:
  std::shared_ptr<const hdf5::File> file_;
  hdf5::Dataset dataset_;
  hdf5::TypeHandle type_;
};

std::uint64_t chunk_bytes(const hdf5::DatasetInfo& info) {
  std::uint64_t bytes = info.element_bytes;
  for (const std::int64_t extent : info.chunk) bytes *= static_cast<std::uint64_t>(extent);
  return bytes;  // HDF5 keeps chunks below 4 GiB
}

// The dataset opened again with a chunk cache to suit it.
hdf5::Dataset with_chunk_cache(const hdf5::File& file, const hdf5::Dataset& dataset,
                               std::uint64_t memory_bytes) {
  const std::uint64_t chunk = std::max<std::uint64_t>(1, chunk_bytes(dataset.info()));
  const std::uint64_t cache = std::max(2 * chunk, std::min(kChunkCache, memory_bytes / 2));
  const hdf5::PropertyHandle access(H5Pcreate(H5P_DATASET_ACCESS));
  // About a hundred slots a chunk keep collisions rare; nothing is written, so no chunk is preferred for
  // eviction.
  const std::uint64_t slots = std::min<std::uint64_t>(cache / chunk * 100 + 1, 1 << 20);
  H5Pset_chunk_cache(access.get(), slots, cache, 0.0);
  return hdf5::Dataset(file.name(), dataset.path(),
                       hdf5::DatasetHandle(H5Dopen2(file.id(), dataset.path().c_str(), access.get())));
}

void check_filters(const hdf5::Dataset& dataset) {
  const hdf5::PropertyHandle creation(H5Dget_create_plist(dataset.id()));
  const int filters = H5Pget_nfilters(creation.get());
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0, config = 0;
    std::size_t values = 0;
    char name[64] = {};
    const H5Z_filter_t filter = H5Pget_filter2(creation.get(), static_cast<unsigned>(i), &flags, &values,
                                               nullptr, sizeof name - 1, name, &config);
    if (filter < 0 || H5Zfilter_avail(filter) <= 0)
      throw UserError(
          "the dataset is compressed with the filter '" + std::string(name) + "', which this HDF5 lacks",
          dataset.where(), "compress it with gzip: h5repack -f GZIP=4 OLD NEW");
  }
}

// Where a contiguous dataset's bytes are in the file; nothing for other layouts, and for data that are not
// (all) in it.
std::optional<std::uint64_t> offset_in_file(const hdf5::Dataset& dataset, const ArrayInfo& info,
                                            std::uint64_t file_size) {
  const hdf5::PropertyHandle creation(H5Dget_create_plist(dataset.id()));
  if (H5Pget_layout(creation.get()) != H5D_CONTIGUOUS || H5Pget_external_count(creation.get()) != 0)
    return std::nullopt;
  const haddr_t offset = H5Dget_offset(dataset.id());
  if (offset == HADDR_UNDEF || offset > file_size || info.bytes() > file_size - offset) return std::nullopt;
  return offset;
}

std::unique_ptr<Records> open_dataset(std::shared_ptr<const hdf5::File> file, const std::string& name,
                                      std::uint64_t memory_bytes, std::string& advice) {
  hdf5::Dataset dataset = file->dataset(name);
  check_filters(dataset);
  hdf5::TypeHandle type(H5Dget_type(dataset.id()));
  ArrayInfo info =
      array_info(dataset.where(), element_of(type.get(), dataset.where()), dataset.info().shape.dims());
  auto plain = DataFile::open(file->name());
  if (const auto offset = offset_in_file(dataset, info, plain->size())) {
    const std::size_t stride = info.record_bytes;
    const std::int64_t count = info.count;
    return records_in_files(std::move(info), {{std::move(plain), *offset, stride, count}});
  }
  if (dataset.info().chunked) {
    if (chunk_bytes(dataset.info()) > memory_bytes / 2)
      throw UserError("a chunk of " + format_bytes(chunk_bytes(dataset.info())) +
                          " does not fit the memory that may be used",
                      dataset.where(), "write the dataset with smaller chunks, e.g. one sample each");
    dataset = with_chunk_cache(*file, dataset, memory_bytes);
    const std::int64_t rows = dataset.info().chunk.at(0);
    if (info.bytes() > memory_bytes && rows > 1)
      advice = dataset.where() + ": shuffled reading fetches " +
               (dataset.info().filtered ? "and decompresses a chunk of " : "a chunk of ") +
               std::to_string(rows) +
               " samples for each sample; chunks of one sample, or a contiguous dataset, would be faster";
  }
  return std::make_unique<Hdf5Records>(std::move(info), std::move(file), std::move(dataset), std::move(type));
}

std::string listing(const hdf5::File& file, const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == kListed) return text + ", …";
    text += (i > 0 ? ", " : "") + names[i];
    try {
      text += " " + to_string(file.dataset(names[i]).info().shape);
    } catch (const UserError&) {  // listed all the same
    }
  }
  return text.empty() ? "no dataset" : text;
}

}  // namespace

Arrays open_hdf5(const DataSpec& spec, const OpenOptions& options) {
  if (spec.paths.size() != 1)
    throw UserError("one HDF5 file is wanted", spec.text, "write hdf5:FILE?x=NAME&y=NAME");
  DataFile::open(spec.paths[0]);  // a missing file is said in the system's words
  const auto file = std::make_shared<const hdf5::File>(hdf5::File::open(spec.paths[0]));
  const std::vector<std::string> available = file->datasets();
  const ArrayNames names = choose_arrays(spec, available, listing(*file, available));
  Arrays arrays;
  arrays.x = open_dataset(file, names.x, options.memory_bytes, arrays.advice);
  if (!names.y.empty()) arrays.y = open_dataset(file, names.y, options.memory_bytes, arrays.advice);
  arrays.names = names.x + "," + names.y;
  arrays.files = spec.paths;
  return arrays;
}

}  // namespace stoker::data
