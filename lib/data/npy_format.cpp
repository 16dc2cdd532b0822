// .npy files: x.npy[,y.npy], gzip-compressed or not. C order is read in place, Fortran order is turned in
// memory.
#include "lib/base/error.h"
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
  if (file->size() - header.bytes < header.info.bytes()) truncated(path);
  if (file->size() - header.bytes > header.info.bytes())
    throw UserError("there is more data than the header says", path, "save one array a file");
  const std::size_t stride = header.info.record_bytes;
  const std::int64_t count = header.info.count;
  return records_in_files(std::move(header.info), {{std::move(file), header.bytes, stride, count}});
}

}  // namespace

Arrays open_npy(const DataSpec& spec, const OpenOptions& options) {
  if (spec.paths.size() > 2) throw UserError("more than two files", spec.text, "write npy:X.npy,Y.npy");
  Arrays arrays;
  arrays.x = open_array(spec.paths[0], options.memory_bytes);
  if (spec.paths.size() == 2) arrays.y = open_array(spec.paths[1], options.memory_bytes);
  arrays.files = spec.paths;
  return arrays;
}

}  // namespace stoker::data
