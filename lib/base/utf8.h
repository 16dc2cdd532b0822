// Text from outside may be in any encoding; JSON takes UTF-8 alone.
#pragma once

#include <cstddef>
#include <string_view>

namespace stoker {

// Length of the well-formed UTF-8 sequence at text[i], 0 if there is none (RFC 3629); i < text.size().
std::size_t utf8_length(std::string_view text, std::size_t i);

bool is_utf8(std::string_view text);

}  // namespace stoker
