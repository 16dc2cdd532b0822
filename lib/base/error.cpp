#include "lib/base/error.h"

#include <cerrno>
#include <cstring>

#include "lib/base/utf8.h"

namespace stoker {
namespace {

std::string three_parts(std::string_view a, std::string_view b, std::string_view c) {
  std::string line(a);
  for (std::string_view part : {b, c})
    if (!part.empty()) line.append(": ").append(part);
  return printable(line);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    const bool control = length == 1 && (static_cast<unsigned char>(text[i]) < 0x20 || text[i] == 0x7F);
    if (length == 0 || control) {
      out.push_back(control && text[i] == '\t' ? ' ' : '?');
      ++i;
    } else {
      out.append(text.substr(i, length));
      i += length;
    }
  }
  return out;
}

UserError::UserError(std::string_view what_is_wrong, std::string_view where, std::string_view what_to_do)
    : std::runtime_error(three_parts(what_is_wrong, where, what_to_do)) {}

SystemError::SystemError(std::string_view call, std::string_view detail, std::string_view what_to_do)
    : std::runtime_error(three_parts(call, detail, what_to_do)) {}

void throw_errno(std::string_view call, std::string_view object) {
  const int code = errno;
  const char* to_do = "see the system's messages and try again";
  if (code == ENOSPC || code == EDQUOT) to_do = "free some space, or give another --output, and run it again";
  if (code == EACCES || code == EPERM || code == EROFS) to_do = "check the permissions";
  throw SystemError(std::string(call) + " failed", std::string(object) + ": " + std::strerror(code), to_do);
}

}  // namespace stoker
