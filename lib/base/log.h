// What the program tells a person: lines on stderr, copied to log.txt.
//
//   stoker: …            information (only rank 0 prints it)
//   stoker: warning: …   (only rank 0 prints it; a line said before is not said again)
//   stoker: error: …     from exactly one rank, the last thing it says
//
// Thread-safe. Text that came from a file or a user passes printable() on its way, so a line stays a line.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace stoker {

// Before this is called the process counts as rank 0. Ranks other than 0 print nothing but say_error().
void log_set_rank(int rank);

// Every line also goes to this file (appended; opened now). Throws SystemError. An empty path closes it.
void log_set_file(const std::string& path);

// True when stderr is a terminal: the progress line may then be redrawn in place.
bool log_is_terminal();

void say_line(std::string_view text);     // "stoker: text"
void say_warning(std::string_view text);  // once per text
void say_warning_here(std::string_view text);  // the same, on whatever rank met the trouble
void say_error(std::string_view text);    // on every rank that calls it

// A line that replaces the previous progress line on a terminal, and is an ordinary line elsewhere.
void say_progress(std::string_view text);

template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  say_line(fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  say_warning(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace stoker
