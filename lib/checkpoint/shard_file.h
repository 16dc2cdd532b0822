// The two kinds of file in a checkpoint's folder, as sealed HDF5 files (sealed_file.h):
//
//   shard      /index    text: JSON list of the slices in this file
//              /slices/0, /slices/1, …   one-dimensional, contiguous, little-endian: the elements of slice i;
//                        float16 and bfloat16 are stored as their 16 bits (unsigned integers)
//   manifest   /index    text: JSON, see Index
//              /state    text: JSON, the caller's
//
// A file is put together in memory and written in one go. Thread-safe for different objects and paths.
// Failing system calls are SystemError; damaged files UserError.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "lib/checkpoint/layout.h"
#include "lib/checkpoint/sealed_file.h"
#include "lib/tensor/memory.h"

namespace stoker::checkpoint {

// The size of the shard that a rank writes of these tensors.
std::uint64_t shard_bytes(std::span<const TensorInfo> tensors, int rank, int ranks);

// A shard of one rank, held as the bytes of its file. Made once, filled and written for every save.
class ShardImage {
 public:
  // Takes shard_bytes(tensors, rank, ranks) of memory.
  ShardImage(std::vector<TensorInfo> tensors, int rank, int ranks);

  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  // Copies this rank's part out of the tensors, data[i] being that of tensors()[i].
  void fill(std::span<const void* const> data);

  // Checksums, index and seal, then the file at `path`, durable (but not its name). Fills in seal.bytes and
  // seal.digest.
  void write(const std::string& path, Seal& seal);

 private:
  std::size_t bytes_of(const Slice& slice) const;

  std::vector<TensorInfo> tensors_;
  std::vector<Slice> slices_;
  std::uint64_t index_offset_ = 0;
  HostBuffer image_;
};

// The slices that a shard says it holds.
std::vector<Slice> read_shard_index(const std::string& path);

// Writes a manifest to `path` and makes it durable (not its name).
void write_manifest(const std::string& path, const Index& index, const std::string& state, Seal seal);

struct ManifestText {
  std::string index, state;
};
ManifestText read_manifest_text(const std::string& path);

}  // namespace stoker::checkpoint
