// The binary version of CIFAR-10 and CIFAR-100 (https://www.cs.toronto.edu/~kriz/cifar.html). A record is one
// byte of label (CIFAR-100: the coarse, then the fine label), then 3,072 bytes of pixels: 32×32 of red, of
// green, of blue.
#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "lib/data/formats.h"

namespace stoker::data {
namespace {

constexpr std::int64_t kPixels = 3072;

// The record's files: those given, or those of a part in a folder.
std::vector<std::string> files_of(const DataSpec& spec, const std::vector<std::string>& names) {
  if (spec.paths.size() != 1 || !is_directory(spec.paths[0])) return spec.paths;
  std::vector<std::string> files;
  for (const std::string& name : names) files.push_back(spec.paths[0] + "/" + name);
  return files;
}

// Names, one a line, from the file that comes with the data; nothing when it is missing or of another length.
std::vector<std::string> names_of(const std::string& path, std::size_t classes) {
  if (!path_exists(path)) return {};
  std::vector<std::string> names;
  for (const std::string& line : split(read_file(path, 1 << 16), '\n'))
    if (!trim(line).empty()) names.emplace_back(trim(line));
  return names.size() == classes ? names : std::vector<std::string>();
}

Arrays open_cifar(const std::vector<std::string>& files, std::uint64_t label_bytes,
                  std::uint64_t label_offset) {
  const std::uint64_t stride = label_bytes + kPixels;
  std::vector<Segment> images, labels;
  std::int64_t count = 0;
  for (const std::string& path : files) {
    const auto file = DataFile::open(path);
    if (file->size() == 0 || file->size() % stride != 0)
      throw UserError("not whole CIFAR records of " + std::to_string(stride) + " bytes", path,
                      "it may be truncated, or not the binary version");
    const auto records = static_cast<std::int64_t>(file->size() / stride);
    images.push_back({file, label_bytes, stride, records});
    labels.push_back({file, label_offset, stride, records});
    count += records;
  }
  const Element element{ElementKind::u8};
  const std::int64_t image_dimensions[] = {count, 3, 32, 32}, label_dimensions[] = {count};
  Arrays arrays;
  arrays.x = records_in_files(array_info(files[0], element, image_dimensions), std::move(images));
  arrays.y = records_in_files(array_info(files[0], element, label_dimensions), std::move(labels));
  arrays.channels_first = true;
  arrays.files = files;
  return arrays;
}

}  // namespace

Arrays open_cifar10(const DataSpec& spec, const OpenOptions&) {
  std::vector<std::string> names{"test_batch.bin"};
  if (parse_choice(spec, "part", {"train", "test"}, "train") == "train")
    names = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
             "data_batch_5.bin"};
  Arrays arrays = open_cifar(files_of(spec, names), 1, 0);
  arrays.classes = 10;
  arrays.class_names = names_of(spec.paths[0] + "/batches.meta.txt", 10);
  return arrays;
}

Arrays open_cifar100(const DataSpec& spec, const OpenOptions&) {
  const std::string part = parse_choice(spec, "part", {"train", "test"}, "train");
  const std::string labels = parse_choice(spec, "labels", {"fine", "coarse"}, "fine");
  Arrays arrays = open_cifar(files_of(spec, {part + ".bin"}), 2, labels == "fine" ? 1 : 0);
  arrays.classes = labels == "fine" ? 100 : 20;
  arrays.class_names =
      names_of(spec.paths[0] + "/" + labels + "_label_names.txt", static_cast<std::size_t>(arrays.classes));
  arrays.names = labels;
  return arrays;
}

}  // namespace stoker::data
