// The two kinds of file in a checkpoint's folder, as sealed HDF5 files (sealed_file.h):
//
//   shard      /index   text: JSON list of the slices in this file
//              /slices/0, /slices/1, …   one-dimensional, contiguous, little-endian: the elements of slice i. float16 and
//                                        bfloat16 are stored as their 16 bits (unsigned integers)
//   manifest   /index   text: JSON, see Index
//              /state   text: JSON, the caller's
//
// HDF5 only lays the file out (earliest format, early allocation, no filters). The elements are written and read at the
// offsets it reports, with pwrite and pread: a full disk is then an errno of one call and never an HDF5 file that cannot be closed, and
// HDF5's global lock is not held while data flow.
//
// Thread-safe for different paths. Failing system calls are SystemError; damaged files UserError.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "lib/checkpoint/layout.h"
#include "lib/checkpoint/sealed_file.h"

namespace stoker::checkpoint {

// Writes a shard to `path`, replacing what is there, and makes it durable (not its name). `data` holds the slices' elements one
// after the other. Fills in offsets and checksums of `slices`, bytes and digest of `seal`.
void write_shard(const std::string& path, std::span<const TensorInfo> tensors, std::vector<Slice>& slices,
                 const std::byte* data, Seal& seal);

// The slices that a shard says it holds.
std::vector<Slice> read_shard_index(const std::string& path);

// Writes a manifest to `path` and makes it durable (not its name).
void write_manifest(const std::string& path, const Index& index, const std::string& state, Seal& seal);

struct ManifestText {
  std::string index, state;
};
ManifestText read_manifest_text(const std::string& path);

}  // namespace stoker::checkpoint
