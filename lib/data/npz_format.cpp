// .npz: a zip archive whose members NAME.npy are arrays. Stored members in C order are read in place, others
// into memory.
#include <algorithm>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/data/formats.h"
#include "lib/data/npy_header.h"
#include "lib/data/zip_directory.h"

namespace stoker::data {
namespace {

constexpr std::string_view kSuffix = ".npy";

std::unique_ptr<Records> open_member(std::shared_ptr<const DataFile> file, const ZipMember& member,
                                     std::uint64_t memory_bytes) {
  const auto stream = stream_member(file, member);
  NpyHeader header = read_npy_header(*stream);
  const bool turned = header.fortran_order && header.info.shape.rank() > 0;
  // What fits is loaded in any case: so the archive's checksum is verified.
  if (member.deflated || turned || header.info.bytes() <= std::min(memory_bytes, kHeldForSpeed))
    return load_records(std::move(header.info), *stream, turned, memory_bytes);
  return records_in_file(std::move(header.info), std::move(file), member.offset + header.bytes,
                         member.size - header.bytes);
}

}  // namespace

Arrays open_npz(const DataSpec& spec, const OpenOptions& options) {
  if (spec.paths.size() != 1)
    throw UserError("one .npz file is wanted", spec.text, "write npz:FILE?x=NAME&y=NAME");
  const auto file = DataFile::open(spec.paths[0]);
  const std::vector<ZipMember> members = read_zip_directory(*file);
  std::vector<std::string> available;
  for (const ZipMember& member : members)
    if (member.name.ends_with(kSuffix))
      available.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
  const ArrayNames names =
      choose_arrays(spec, available, available.empty() ? "no array" : join(available, ", "));
  const auto open_name = [&](const std::string& name) {
    const auto member = std::find_if(members.begin(), members.end(), [&](const ZipMember& m) {
      return m.name == name + std::string(kSuffix);
    });
    return open_member(file, *member, options.memory_bytes);
  };
  Arrays arrays;
  arrays.x = open_name(names.x);
  if (!names.y.empty()) arrays.y = open_name(names.y);
  arrays.names = names.x + "," + names.y;
  arrays.files = spec.paths;
  return arrays;
}

}  // namespace stoker::data
