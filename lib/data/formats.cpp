#include "lib/data/formats.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"

namespace stoker::data {
namespace {

constexpr std::string_view kArrayKeys[] = {"x", "y"};
constexpr std::string_view kCifar10Keys[] = {"part"};
constexpr std::string_view kCifar100Keys[] = {"part", "labels"};
constexpr std::string_view kCsvKeys[] = {"label", "header", "separator", "ignore", "classes"};

constexpr Format kFormats[] = {
    {"hdf5", kArrayKeys, open_hdf5},
    {"npz", kArrayKeys, open_npz},
    {"npy", {}, open_npy},
    {"idx", {}, open_idx},
    {"cifar10", kCifar10Keys, open_cifar10},
    {"cifar100", kCifar100Keys, open_cifar100},
    {"csv", kCsvKeys, open_csv},
};

constexpr auto kKinds = [] {
  std::array<std::string_view, std::size(kFormats)> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kFormats[i].kind;
  return kinds;
}();

// Names that files use, x beside its y, the likeliest first. Compared without regard to case.
constexpr std::string_view kPairs[][2] = {
    {"x", "y"},
    {"x_train", "y_train"},
    {"train_x", "train_y"},
    {"images", "labels"},
    {"image", "label"},
    {"data", "labels"},
    {"data", "label"},
    {"data", "target"},
    {"features", "labels"},
    {"features", "label"},
    {"features", "target"},
    {"features", "targets"},
    {"inputs", "targets"},
    {"inputs", "labels"},
    {"train_images", "train_labels"},
    {"arr_0", "arr_1"},
    {"x_test", "y_test"},
    {"test_x", "test_y"},
    {"x_val", "y_val"},
    {"test_images", "test_labels"},
};

std::string find_ignoring_case(const std::vector<std::string>& available, std::string_view name) {
  for (const std::string& candidate : available)
    if (candidate == name) return candidate;
  for (const std::string& candidate : available)
    if (lower(candidate) == name) return candidate;
  return "";
}

// The y of the pair that `x` begins, if the file has it. A name in a group has its y in that group.
std::string partner(const std::vector<std::string>& available, const std::string& x) {
  const std::size_t slash = x.rfind('/');
  const std::string group = slash == std::string::npos ? "" : x.substr(0, slash + 1);
  for (const auto& [x_name, y_name] : kPairs)
    if (lower(x.substr(group.size())) == x_name)
      for (const std::string& candidate : available)
        if (candidate.starts_with(group) && lower(candidate.substr(group.size())) == y_name) return candidate;
  return "";
}

std::string required(const DataSpec& spec, const std::vector<std::string>& available, const std::string& name,
                     const std::string& listing) {
  const std::string bare = name.starts_with('/') ? name.substr(1) : name;
  if (std::find(available.begin(), available.end(), bare) != available.end()) return bare;
  throw UserError("there is no '" + name + "' in the file", spec.paths[0], "it has " + listing);
}

std::string kind_of_content(std::string_view head) {
  constexpr std::string_view kHdf5 = "\x89HDF\r\n\x1a\n";
  if (head.starts_with(kHdf5)) return "hdf5";
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) return "npz";
  if (head.starts_with("\x93NUMPY")) return "npy";
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  if (head.size() >= 4 && byte(0) == 0 && byte(1) == 0 && byte(2) >= 8 && byte(2) <= 14 && byte(3) >= 1 &&
      byte(3) <= 8)
    return "idx";
  return "";
}

std::string kind_of_name(std::string name) {
  name = lower(name);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  constexpr std::string_view kExtensions[][2] = {{".h5", "hdf5"}, {".hdf5", "hdf5"}, {".npz", "npz"},
                                                 {".npy", "npy"}, {".csv", "csv"},   {".tsv", "csv"},
                                                 {".txt", "csv"}, {".idx", "idx"},   {"-ubyte", "idx"}};
  for (const auto& [extension, kind] : kExtensions)
    if (name.ends_with(extension)) return std::string(kind);
  return "";
}

}  // namespace

std::span<const Format> formats() { return kFormats; }
std::span<const std::string_view> kinds() { return kKinds; }

std::string kind_of(const std::string& path) {
  if (is_directory(path)) {
    if (path_exists(path + "/train.bin") || path_exists(path + "/test.bin")) return "cifar100";
    if (path_exists(path + "/data_batch_1.bin") || path_exists(path + "/test_batch.bin")) return "cifar10";
    throw UserError("the folder holds no data that is known", path,
                    "give a file, or a folder of CIFAR's binary files");
  }
  const auto stream = stream_file(DataFile::open(path));
  char head[8];
  const std::size_t size = stream->read(head, sizeof head);
  std::string kind = kind_of_content({head, size});
  if (kind.empty()) kind = kind_of_name(path);
  if (kind.empty())
    throw UserError("cannot tell what kind of data this is", path,
                    "say it: KIND:PATH, with KIND one of " + join({kKinds.begin(), kKinds.end()}, ", "));
  return kind;
}

Arrays open_array_files(const DataSpec& spec, const OpenOptions& options, OpenArray open,
                        std::string_view usage) {
  if (spec.paths.size() > 2) throw UserError("more than two files", spec.text, usage);
  Arrays arrays;
  arrays.x = open(spec.paths[0], options.memory_bytes);
  if (spec.paths.size() == 2) arrays.y = open(spec.paths[1], options.memory_bytes);
  arrays.files = spec.paths;
  return arrays;
}

ArrayNames choose_arrays(const DataSpec& spec, const std::vector<std::string>& available,
                         const std::string& listing) {
  ArrayNames names;
  const auto x = spec.get("x"), y = spec.get("y");
  if (x) {
    names.x = required(spec, available, *x, listing);
  } else {
    for (const auto& [x_name, y_name] : kPairs) {
      const std::string found = find_ignoring_case(available, x_name);
      if (found.empty()) continue;
      if (names.x.empty()) names.x = found;
      if (find_ignoring_case(available, y_name).empty()) continue;
      names.x = found;
      break;
    }
    if (names.x.empty())
      throw UserError("cannot tell which array is x", spec.paths[0], "say x=NAME&y=NAME; it has " + listing);
  }
  if (!y)
    names.y = partner(available, names.x);
  else if (*y != "none")
    names.y = required(spec, available, *y, listing);
  return names;
}

}  // namespace stoker::data
