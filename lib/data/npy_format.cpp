// .npy files: x.npy[,y.npy], gzip-compressed or not. C order is read in place, Fortran order is turned in
// memory.
#include "lib/data/formats.h"
#include "lib/data/npy_header.h"

namespace stoker::data {
namespace {

std::unique_ptr<Records> open_array(const std::string& path, std::uint64_t memory_bytes) {
  auto file = DataFile::open(path);
  const auto stream = stream_file(file);
  NpyHeader header = read_npy_header(*stream);
  const bool turned = header.fortran_order && header.info.shape.rank() > 0;
  if (file->is_gzip() || turned) return load_records(std::move(header.info), *stream, turned, memory_bytes);
  const std::uint64_t bytes = file->size() - header.bytes;
  return records_in_file(std::move(header.info), std::move(file), header.bytes, bytes);
}

}  // namespace

Arrays open_npy(const DataSpec& spec, const OpenOptions& options) {
  return open_array_files(spec, options, open_array, "write npy:X.npy,Y.npy");
}

}  // namespace stoker::data
