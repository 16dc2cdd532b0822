// Files: whole-file reads, and writes that are either there completely or not at all.
//
// All functions are thread-safe. Failures are SystemError (errno in words) unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/handle.h"

namespace stoker {

// The whole content. Throws UserError when the file is missing, unreadable, a directory, or over `limit`
// bytes.
std::string read_file(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 31);

// Writes all bytes, retrying short writes and EINTR; false with errno set when one fails.
bool write_all(int fd, const void* data, std::size_t bytes);

// Makes `content` the content of `path`: a temporary name beside it, fsync, rename, fsync of the folder.
// After a crash at any moment the file has its old or its new content.
void write_file_atomically(const std::string& path, std::string_view content);

// rename(from, to), then fsync of the folder of `to`. The caller has made the content of `from` durable.
void rename_durably(const std::string& from, const std::string& to);

// fsync of a file or folder, by path.
void sync_path(const std::string& path);

// mkdir -p. Throws UserError when a component is no folder or may not be made.
void make_directories(const std::string& path);

bool path_exists(const std::string& path);
bool is_directory(const std::string& path);

// An advisory lock (flock) on DIR/lock held as long as the object lives; it dies with the process. Throws
// UserError when another process has it ("in use").
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory);

 private:
  FileDescriptor fd_;
};

}  // namespace stoker
