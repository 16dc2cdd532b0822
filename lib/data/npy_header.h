// The header of NumPy's .npy format, versions 1.0 to 3.0 (documented with numpy.lib.format): "\x93NUMPY", two
// bytes of version, the length of a Python dictionary literal with the keys descr, fortran_order and shape,
// that literal, then the elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/data/byte_stream.h"
#include "lib/data/records.h"

namespace stoker::data {

struct NpyHeader {
  ArrayInfo info;
  bool fortran_order = false;
  std::uint64_t bytes = 0;  // of the header: the elements follow
};

// Reads the header at the front of the stream. Throws UserError for what is no .npy, for element types that
// are no numbers (strings, objects, structures), and for shapes that array_info() refuses.
NpyHeader read_npy_header(ByteStream& stream);

}  // namespace stoker::data
