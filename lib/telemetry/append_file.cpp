#include "lib/telemetry/append_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "lib/base/error.h"
#include "lib/base/files.h"

namespace stoker::telemetry {

AppendFile::AppendFile(std::string path, bool fresh) : path_(std::move(path)) {
  const int mode = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | (fresh ? O_EXCL : 0);
  fd_.reset(::open(path_.c_str(), mode, 0666));
  if (!fd_) throw_errno("open", path_);
  struct stat st {};
  if (::fstat(fd_.get(), &st) != 0) throw_errno("fstat", path_);
  length_ = static_cast<std::uint64_t>(st.st_size);
}

void AppendFile::append(std::string_view record) {
  if (write_all(fd_.get(), record.data(), record.size())) {
    length_ += record.size();
    return;
  }
  const int code = errno;
  // If this fails too, the torn record stays, and a resumed run cuts it.
  static_cast<void>(::ftruncate(fd_.get(), static_cast<off_t>(length_)) == 0);
  errno = code;
  throw_errno("write", path_);
}

void AppendFile::cut_to(std::uint64_t bytes) {
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) throw_errno("ftruncate", path_);
  length_ = bytes;
}

void AppendFile::sync() {
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) throw_errno("fsync", path_);
}

}  // namespace stoker::telemetry
