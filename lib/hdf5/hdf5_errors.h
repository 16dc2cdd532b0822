// The errors of this folder: what was read or written, by file and HDF5 path.
#pragma once

#include <string>
#include <string_view>

namespace stoker::hdf5 {

// "FILE: /path", for messages; FILE for the root.
std::string joined(const std::string& file, const std::string& path);

// Throws the UserError for what is missing or damaged.
[[noreturn]] void unreadable(const std::string& file, const std::string& path, std::string_view what);

// Throws the SystemError of the HDF5 call `call` unless `ok`. HDF5 keeps errno of the failed write(2), which
// the message names: set errno to 0 before the call.
void must_write(bool ok, std::string_view call, const std::string& file, const std::string& path);

}  // namespace stoker::hdf5
