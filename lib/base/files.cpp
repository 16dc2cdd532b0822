#include "lib/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "lib/base/error.h"

namespace stoker {
namespace {

std::string parent_of(const std::string& path) {
  const auto parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

std::string read_file(const std::string& path, std::uint64_t limit) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd)
    throw UserError("cannot read the file", path, std::string(std::strerror(errno)) + "; check the path");
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0) throw_errno("fstat", path);
  if (S_ISDIR(st.st_mode)) throw UserError("is a folder, not a file", path, "give a file");
  if (static_cast<std::uint64_t>(st.st_size) > limit)
    throw UserError("the file is too large", path, "at most " + std::to_string(limit) + " bytes are read");
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw_errno("read", path);
    if (n == 0) return content;
    content.append(buffer, static_cast<std::size_t>(n));
    if (content.size() > limit)
      throw UserError("the file is too large", path, "at most " + std::to_string(limit) + " bytes are read");
  }
}

bool write_all(int fd, const void* data, std::size_t bytes) {
  const char* p = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd, p, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    p += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

void write_file_atomically(const std::string& path, std::string_view content) {
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  try {
    FileDescriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!fd) throw_errno("open", temporary);
    if (!write_all(fd.get(), content.data(), content.size())) throw_errno("write", temporary);
    if (::fsync(fd.get()) != 0) throw_errno("fsync", temporary);
    if (::close(fd.release()) != 0) throw_errno("close", temporary);
    rename_durably(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_errno("rename", to);
  sync_path(parent_of(to));
}

void sync_path(const std::string& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) throw_errno("open", path);
  // Some file systems cannot sync a folder and say EINVAL: there is nothing more to do then.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) throw_errno("fsync", path);
}

void make_directories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || !is_directory(path))
    throw UserError("cannot make the folder", path,
                    (error ? error.message() : "a file is in the way") + "; give another");
}

bool path_exists(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0;
}

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

DirectoryLock::DirectoryLock(const std::string& directory) {
  const std::string path = directory + "/lock";
  fd_.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!fd_)
    throw UserError("cannot write to the folder", directory,
                    std::string(std::strerror(errno)) + "; give another");
  if (::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK)
    throw UserError("the output directory is in use by another run", directory,
                    "wait for it, or give another --output");
  throw_errno("flock", path);
}

}  // namespace stoker
