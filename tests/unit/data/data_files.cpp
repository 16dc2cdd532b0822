#include "tests/unit/data/data_files.h"

#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

#include "lib/base/error.h"
#include "lib/hdf5/hdf5_file.h"

namespace stoker::data::test {
namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> (8 * i)));
  return text;
}

std::string deflated(std::string_view content, int window_bits) {
  z_stream z{};
  if (deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::runtime_error("deflateInit2");
  std::string out(deflateBound(&z, content.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) throw std::runtime_error("deflate");
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "stoker-data-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string Folder::write(const std::string& name, std::string_view content) const {
  std::ofstream(path(name), std::ios::binary) << content;
  return path(name);
}

std::string idx(unsigned char type, const std::vector<std::uint32_t>& dimensions, std::string_view elements) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(dimensions.size())};
  return out + bytes_of(dimensions, true) + std::string(elements);
}

std::string npy(const std::string& descr, bool fortran_order, const std::string& shape,
                std::string_view elements) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                       ", 'shape': " + shape + ", }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + little(header.size(), 2) + header + std::string(elements);
}

std::string gzip(std::string_view content) { return deflated(content, 15 + 16); }

std::string zip(const std::vector<Member>& members, bool zip64) {
  std::string out, directory;
  for (const Member& member : members) {
    const std::string stored = member.deflated ? deflated(member.content, -15) : member.content;
    const std::uint64_t crc = crc32(0, reinterpret_cast<const Bytef*>(member.content.data()),
                                    static_cast<uInt>(member.content.size()));
    const std::string method = little(member.deflated ? 8 : 0, 2);
    const auto sizes = [&](bool hidden) {
      return hidden ? little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4)
                    : little(stored.size(), 4) + little(member.content.size(), 4);
    };
    const std::string extra = zip64 ? little(1, 2) + little(24, 2) + little(member.content.size(), 8) +
                                          little(stored.size(), 8) + little(out.size(), 8)
                                    : "";
    directory += little(0x02014B50, 4) + little(20, 2) + little(20, 2) + little(0, 2) + method +
                 little(0, 4) + little(crc, 4) + sizes(zip64) + little(member.name.size(), 2) +
                 little(extra.size(), 2) + little(0, 2) + little(0, 8) +
                 little(zip64 ? 0xFFFFFFFF : out.size(), 4) + member.name + extra;
    out += little(0x04034B50, 4) + little(20, 2) + little(0, 2) + method + little(0, 4) + little(crc, 4) +
           sizes(zip64) + little(member.name.size(), 2) + little(0, 2) + member.name + stored;
  }
  const std::uint64_t offset = out.size();
  out += directory;
  if (zip64)
    out += little(0x06064B50, 4) + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
           little(members.size(), 8) + little(members.size(), 8) + little(directory.size(), 8) +
           little(offset, 8) + little(0x07064B50, 4) + little(0, 4) + little(offset + directory.size(), 8) +
           little(1, 4);
  return out + little(0x06054B50, 4) + little(0, 4) + little(zip64 ? 0xFFFF : members.size(), 2) +
         little(zip64 ? 0xFFFF : members.size(), 2) + little(zip64 ? 0xFFFFFFFF : directory.size(), 4) +
         little(zip64 ? 0xFFFFFFFF : offset, 4) + little(0, 2);
}

void write_hdf5(const std::string& path, std::int64_t n, Hdf5Kind kind) {
  std::vector<float> x(static_cast<std::size_t>(n) * 6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(10 * (i / 6) + i % 6);
  std::vector<std::int64_t> y(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(i % 7);
  hdf5::File file = hdf5::File::create(path);
  if (kind.chunk == 0) {
    file.write("x", Shape{n, 2, 3}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, x.data());
  } else {
    const hsize_t size[] = {static_cast<hsize_t>(n), 2, 3},
                  chunk[] = {static_cast<hsize_t>(kind.chunk), 2, 3};
    const hdf5::SpaceHandle space(H5Screate_simple(3, size, nullptr));
    const hdf5::PropertyHandle creation(H5Pcreate(H5P_DATASET_CREATE));
    H5Pset_chunk(creation.get(), 3, chunk);
    if (kind.compressed) H5Pset_deflate(creation.get(), 4);
    const hdf5::DatasetHandle dataset(
        H5Dcreate2(file.id(), "x", H5T_IEEE_F32LE, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT));
    if (H5Dwrite(dataset.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, x.data()) < 0)
      throw std::runtime_error("H5Dwrite");
  }
  file.write("y", Shape{n}, H5T_STD_I64LE, H5T_NATIVE_INT64, y.data());
  file.close();
}

Content read_some(const Source& source, const std::vector<std::int64_t>& indices) {
  const Description& about = source.description();
  Content content;
  content.x.resize(indices.size() * static_cast<std::size_t>(about.x_shape.elements()));
  Scratch scratch;
  TargetBuffer y;
  if (about.y_kind == TargetKind::labels) {
    content.labels.resize(indices.size());
    y.labels = content.labels.data();
  } else if (about.y_kind == TargetKind::values) {
    content.values.resize(indices.size() * static_cast<std::size_t>(about.y_shape.elements()));
    y.values = content.values.data();
  }
  source.read(indices, content.x.data(), y, scratch);
  return content;
}

Content read_all(const Source& source) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(source.description().samples));
  std::iota(indices.begin(), indices.end(), 0);
  return read_some(source, indices);
}

std::string error_of(const std::string& spec, const OpenOptions& options) {
  try {
    read_all(*open_source(spec, options));
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace stoker::data::test
