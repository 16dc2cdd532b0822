#include "lib/hdf5/hdf5_errors.h"

#include <cerrno>
#include <cstring>

#include "lib/base/error.h"

namespace stoker::hdf5 {

std::string joined(const std::string& file, const std::string& path) {
  return path.empty() || path == "/" ? file : file + ": " + (path[0] == '/' ? path : "/" + path);
}

void unreadable(const std::string& file, const std::string& path, std::string_view what) {
  throw UserError(what, joined(file, path),
                  "the file may be truncated or damaged; check it with h5dump, or make it again");
}

void must_write(bool ok, std::string_view call, const std::string& file, const std::string& path) {
  if (ok) return;
  const int code = errno;
  const std::string detail =
      joined(file, path) + (code != 0 ? std::string(": ") + std::strerror(code) : std::string());
  throw SystemError(std::string(call) + " failed", detail,
                    code == ENOSPC || code == EDQUOT ? "free some space and run it again" : "check the disk");
}

}  // namespace stoker::hdf5
