#include "lib/hdf5/hdf5_library.h"

namespace stoker::hdf5 {

void quiet_hdf5() {
  // HDF5 closes what is open when the process exits, and crashes there if a file could not be closed before
  // (a full disk).
  static const bool no_exit_handler = H5dont_atexit() >= 0;
  static_cast<void>(no_exit_handler);
  thread_local const bool done = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  static_cast<void>(done);
}

std::string library_version() {
  quiet_hdf5();
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace stoker::hdf5
