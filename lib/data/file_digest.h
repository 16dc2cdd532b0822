// What a file of data holds, as a short text: equal for equal contents, whatever their names and times.
#pragma once

#include <string>

namespace stoker::data {

// 32 hex digits. Files of up to 64 MiB go in whole; larger ones by their size and 1,024 pieces of 64 KiB that
// are spread evenly from the first byte to the last, so that a data set of terabytes is known in seconds.
// Throws UserError when it cannot be read.
std::string file_digest(const std::string& path);

}  // namespace stoker::data
