// A file that grows by whole records: what a killed process or a full disk leaves of the last one is never
// followed by another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/handle.h"

namespace stoker::telemetry {

// Not thread-safe. Failing calls throw SystemError.
class AppendFile {
 public:
  // Opens `path`, making it when missing; with `fresh`, a file that exists is an error.
  explicit AppendFile(std::string path, bool fresh = false);

  // One write(2), unless the system takes only a part of it. If not all of it could be written, the file is
  // cut back to what it was before throwing.
  void append(std::string_view record);
  void cut_to(std::uint64_t bytes);
  void sync();

  std::uint64_t length() const { return length_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  FileDescriptor fd_;
  std::uint64_t length_ = 0;
};

}  // namespace stoker::telemetry
