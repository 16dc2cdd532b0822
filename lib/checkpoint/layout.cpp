#include "lib/checkpoint/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace stoker::checkpoint {
namespace {

using nlohmann::json;

constexpr std::string_view kStepPrefix = "step-";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr char kFormatName[] = "stoker-checkpoint";

// Takes the number at the front of `text`; nothing when there is none.
std::optional<std::int64_t> take_number(std::string_view& text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto value = parse_int(text.substr(0, digits));
  if (digits > 0) text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

DType dtype_from(const std::string& name) {
  for (const DType type :
       {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i32, DType::i64, DType::u8})
    if (name_of(type) == name) return type;
  throw UserError("unknown element type", name, "was it written by a newer version?");
}

std::uint64_t hex_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 16)
    throw UserError("not 16 hexadecimal digits", text, "the index is damaged");
  return value;
}

TensorInfo tensor_from_json(const json& document) {
  TensorInfo tensor;
  tensor.name = document.at("name").get<std::string>();
  const auto dims = document.at("shape").get<std::vector<std::int64_t>>();
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(elements, dim, &elements))
      throw UserError("impossible shape", tensor.name, "the index is damaged");
  tensor.shape = Shape(dims);
  tensor.dtype = dtype_from(document.at("dtype").get<std::string>());
  return tensor;
}

Shard shard_from_json(const json& document) {
  Shard shard;
  shard.file = document.at("file").get<std::string>();
  if (!is_shard_name(shard.file))
    throw UserError("not the name of a shard", shard.file, "the index is damaged");
  shard.bytes = document.at("bytes").get<std::uint64_t>();
  shard.digest = document.at("digest").get<std::string>();
  shard.slices = slices_from_json(document.at("slices"));
  return shard;
}

// Every element of every tensor is in exactly one slice, and every slice within its file.
void check_cover(const Index& index) {
  std::vector<std::vector<Slice>> of_tensor(index.tensors.size());
  for (const Shard& shard : index.shards) {
    for (const Slice& slice : shard.slices) {
      if (slice.tensor >= index.tensors.size() || slice.begin < 0 || slice.end <= slice.begin ||
          slice.end > index.tensors[slice.tensor].elements())
        throw UserError("a slice outside its tensor", shard.file, "the index is damaged");
      const std::uint64_t bytes =
          static_cast<std::uint64_t>(slice.elements()) * size_of(index.tensors[slice.tensor].dtype);
      if (bytes > shard.bytes || slice.offset > shard.bytes - bytes)
        throw UserError("a slice outside its file", shard.file, "the index is damaged");
      of_tensor[slice.tensor].push_back(slice);
    }
  }
  for (std::size_t t = 0; t < of_tensor.size(); ++t) {
    std::vector<Slice>& slices = of_tensor[t];
    std::sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) { return a.begin < b.begin; });
    std::int64_t covered = 0;
    for (const Slice& slice : slices) {
      if (slice.begin != covered) break;
      covered = slice.end;
    }
    if (covered != index.tensors[t].elements() || (!slices.empty() && slices.back().end != covered))
      throw UserError("slices do not cover the tensor once", index.tensors[t].name, "the index is damaged");
  }
}

}  // namespace

std::string step_directory_name(std::int64_t step) { return fmt::format("step-{:08}", step); }

std::optional<std::int64_t> parse_step_directory(const std::string& name) {
  std::string_view rest = name;
  if (!take(rest, kStepPrefix)) return std::nullopt;
  const auto step = take_number(rest);
  if (!step || !rest.empty() || name != step_directory_name(*step)) return std::nullopt;
  return step;
}

std::string shard_name(int rank, int ranks, int copy) {
  const std::string name = fmt::format("shard-{:05}-of-{:05}", rank, ranks);
  return copy == 0 ? name + ".h5" : fmt::format("{}-{}.h5", name, copy);
}

bool is_shard_name(const std::string& name) {
  std::string_view rest = name;
  if (!take(rest, "shard-") || !take_number(rest) || !take(rest, "-of-") || !take_number(rest)) return false;
  if (take(rest, "-") && !take_number(rest)) return false;
  return rest == ".h5";
}

std::string temporary_name(const std::string& name) { return name + std::string(kTemporarySuffix); }

bool is_temporary_name(const std::string& name) {
  if (!name.ends_with(kTemporarySuffix)) return false;
  const std::string stem = name.substr(0, name.size() - kTemporarySuffix.size());
  return stem == kManifestName || is_shard_name(stem);
}

std::vector<Slice> slices_of_rank(std::span<const TensorInfo> tensors, int rank, int ranks) {
  std::int64_t total = 0;
  for (const TensorInfo& tensor : tensors) total += tensor.elements();
  // rank · total, without overflow for any sizes that fit into memory: quotient and remainder are taken
  // apart.
  const auto border = [&](std::int64_t r) { return total / ranks * r + total % ranks * r / ranks; };
  const std::int64_t first = border(rank), last = border(rank + 1);
  std::vector<Slice> slices;
  std::int64_t start = 0;  // of the tensor, in the sequence of all elements
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    const std::int64_t begin = std::max(first - start, std::int64_t{0});
    const std::int64_t end = std::min(last - start, tensors[t].elements());
    if (begin < end) slices.push_back({t, begin, end, 0, 0});
    start += tensors[t].elements();
  }
  return slices;
}

json to_json(std::span<const Slice> slices) {
  json document = json::array();
  for (const Slice& slice : slices)
    document.push_back({{"tensor", slice.tensor},
                        {"begin", slice.begin},
                        {"end", slice.end},
                        {"offset", slice.offset},
                        {"checksum", fmt::format("{:016x}", slice.checksum)}});
  return document;
}

std::vector<Slice> slices_from_json(const json& document) {
  std::vector<Slice> slices;
  for (const json& entry : document) {
    Slice slice;
    slice.tensor = entry.at("tensor").get<std::size_t>();
    slice.begin = entry.at("begin").get<std::int64_t>();
    slice.end = entry.at("end").get<std::int64_t>();
    slice.offset = entry.at("offset").get<std::uint64_t>();
    slice.checksum = hex_number(entry.at("checksum").get<std::string>());
    slices.push_back(slice);
  }
  return slices;
}

json to_json(const Index& index) {
  json tensors = json::array(), shards = json::array();
  for (const TensorInfo& tensor : index.tensors)
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape.dims()},
                       {"dtype", std::string(name_of(tensor.dtype))}});
  for (const Shard& shard : index.shards)
    shards.push_back({{"file", shard.file},
                      {"bytes", shard.bytes},
                      {"digest", shard.digest},
                      {"slices", to_json(shard.slices)}});
  return {{"format", kFormatName}, {"version", kFormatVersion},
          {"step", index.step},    {"attempt", fmt::format("{:016x}", index.attempt)},
          {"save", index.save},    {"tensors", tensors},
          {"shards", shards}};
}

Index index_from_json(const json& document, const std::string& where) {
  try {
    if (document.at("format").get<std::string>() != kFormatName)
      throw UserError("not the index of a checkpoint", where, "give a checkpoint of stoker");
    if (const int version = document.at("version").get<int>(); version != kFormatVersion)
      throw UserError(fmt::format("checkpoint format {}; this program knows {}", version, kFormatVersion),
                      where, "use the version of stoker that wrote it");
    Index index;
    index.step = document.at("step").get<std::int64_t>();
    index.attempt = hex_number(document.at("attempt").get<std::string>());
    index.save = document.at("save").get<std::uint64_t>();
    for (const json& tensor : document.at("tensors")) index.tensors.push_back(tensor_from_json(tensor));
    for (const json& shard : document.at("shards")) index.shards.push_back(shard_from_json(shard));
    check_cover(index);
    return index;
  } catch (const json::exception& error) {
    throw UserError("not the index of a checkpoint", where, error.what());
  }
}

json exact_json(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double exact_double(const json& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return kInfinity;
  if (value == "-inf") return -kInfinity;
  throw UserError("not a number", value.dump(), "the checkpoint's state is damaged; take another checkpoint");
}

}  // namespace stoker::checkpoint
