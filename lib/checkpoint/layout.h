// What a checkpoint is made of, shared by writer and reader: names, how tensors are cut into slices, and the
// index that the manifest holds. doc/formats/checkpoint.md is the full description of the format.
//
// Value types and pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/tensor/shape.h"

namespace stoker::checkpoint {

inline constexpr int kFormatVersion = 1;
inline constexpr char kManifestName[] = "manifest.h5";
inline constexpr char kLatestName[] = "latest";

std::string step_directory_name(std::int64_t step);  // "step-00001000", more digits where needed
std::optional<std::int64_t> parse_step_directory(const std::string& name);  // nothing for a stranger's name

// "shard-00000-of-00002.h5"; with `copy` above 0 "shard-00000-of-00002-1.h5": a step that is saved a second
// time is written beside the first one's shards, which stay good until the new manifest replaces the old.
std::string shard_name(int rank, int ranks, int copy = 0);
bool is_shard_name(const std::string& name);          // any rank, any copy
std::string temporary_name(const std::string& name);  // "shard-00000-of-00002.h5.tmp", while it is written
bool is_temporary_name(const std::string& name);      // of a shard or manifest

// What is saved: a logical tensor in Keras layout. Names are unique, e.g. "parameters/conv2d/kernel",
// "optimizer/momentum/conv2d/kernel"; slashes have no meaning to the format.
struct TensorInfo {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;

  bool operator==(const TensorInfo&) const = default;
  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
};

// The flat elements [begin, end) of tensor number `tensor`.
struct Slice {
  std::size_t tensor = 0;
  std::int64_t begin = 0, end = 0;
  std::uint64_t offset = 0;    // of its first byte in the shard's file
  std::uint64_t checksum = 0;  // hash64 of its bytes (little-endian elements)

  bool operator==(const Slice&) const = default;
  std::int64_t elements() const { return end - begin; }
};

// All elements, T of them in the tensors' order, are split evenly: rank r of N has [⌊r·T/N⌋, ⌊(r+1)·T/N⌋) of
// that sequence, cut at the tensors' borders. Offsets and checksums are 0. An empty tensor has no slice; a
// rank may have none.
std::vector<Slice> slices_of_rank(std::span<const TensorInfo> tensors, int rank, int ranks);

// Slices as JSON, in a shard's own index and in the manifest's. Checksums are 16 hexadecimal digits: not
// every reader of JSON has 64 bits.
nlohmann::json to_json(std::span<const Slice> slices);
// Throws nlohmann::json::exception on another document, UserError on a checksum that is none.
std::vector<Slice> slices_from_json(const nlohmann::json& document);

struct Shard {
  std::string file;         // name in the step's folder
  std::uint64_t bytes = 0;  // the whole file
  std::string digest;       // of its seal
  std::vector<Slice> slices;
};

// What manifest.h5 says.
struct Index {
  std::int64_t step = 0;
  std::uint64_t attempt = 0, save = 0;  // which save of which attempt of the run wrote it
  std::vector<TensorInfo> tensors;
  std::vector<Shard> shards;  // by rank of the run that wrote it
};

nlohmann::json to_json(const Index& index);
// Throws UserError naming `where` when the document does not describe a checkpoint: fields missing or of the
// wrong type, a version we do not know, slices that overlap or do not cover a tensor, a shard's name with a
// slash.
Index index_from_json(const nlohmann::json& document, const std::string& where);

// JSON has no NaN and no infinity; what is part of a state must come back as it was. A finite number stays a
// number, the others become "nan", "inf", "-inf". exact_double throws UserError on anything else.
nlohmann::json exact_json(double value);
double exact_double(const nlohmann::json& value);

}  // namespace stoker::checkpoint
