#include "lib/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <set>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/handle.h"

namespace stoker {
namespace {

// The one piece of mutable process-wide state: what stderr shows is process-wide too.
struct LogState {
  std::mutex mutex;
  int rank = 0;
  FileDescriptor file;
  std::set<std::string, std::less<>> warned;
  bool progress_open = false;  // a progress line without a newline stands on the terminal
};

LogState& state() {
  static LogState s;
  return s;
}

// A failing write to stderr or to log.txt must not end a training run: its result is ignored.
void write_line(LogState& s, const std::string& line, bool progress) {
  const bool redraw = progress && log_is_terminal();
  std::string out = s.progress_open ? "\r\x1b[K" : "";
  out += line;
  if (!redraw) out += '\n';
  s.progress_open = redraw;
  static_cast<void>(write_all(STDERR_FILENO, out.data(), out.size()));
  if (s.file) static_cast<void>(write_all(s.file.get(), (line + "\n").data(), line.size() + 1));
}

bool speaks() {
  const std::lock_guard lock(state().mutex);
  return state().rank == 0;
}

}  // namespace

void log_set_rank(int rank) {
  const std::lock_guard lock(state().mutex);
  state().rank = rank;
}

void log_set_file(const std::string& path) {
  FileDescriptor file;
  if (!path.empty()) {
    file.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file) throw_errno("open", path);
  }
  const std::lock_guard lock(state().mutex);
  state().file = std::move(file);
}

bool log_is_terminal() {
  static const bool terminal = ::isatty(STDERR_FILENO) == 1;
  return terminal;
}

void say_line(std::string_view text) {
  LogState& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.rank == 0) write_line(s, "stoker: " + printable(text), false);
}

void say_warning_here(std::string_view text) {
  LogState& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.warned.emplace(text).second) write_line(s, "stoker: warning: " + printable(text), false);
}

void say_warning(std::string_view text) {
  if (speaks()) say_warning_here(text);
}

void say_error(std::string_view text) {
  LogState& s = state();
  const std::lock_guard lock(s.mutex);
  write_line(s, "stoker: error: " + printable(text), false);
}

void say_progress(std::string_view text) {
  LogState& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.rank == 0) write_line(s, "stoker: " + printable(text), true);
}

}  // namespace stoker
