// A zip archive for reading (libzip).
#pragma once

#include <zip.h>

#include <optional>
#include <string>

#include "lib/base/handle.h"

namespace stoker::keras {

class ZipArchive {
 public:
  // Throws UserError if the file is no zip or damaged.
  explicit ZipArchive(const std::string& path);

  // A member's whole content, its checksum verified; nothing if there is none of that name. Throws UserError
  // for a member that cannot be read.
  std::optional<std::string> read(const std::string& member) const;

 private:
  std::string path_;
  Handle<zip_t*, zip_discard, nullptr> archive_;
};

// True when the first bytes are a zip's local header (or the end record of an empty one).
bool looks_like_zip(const std::string& path);

}  // namespace stoker::keras
