// The two kinds of failure that Stoker tells apart, and how a failing C call becomes one of them.
//
// UserError    the user can mend it (bad option, file, shape): the process exits with 2.
// SystemError  a library or the operating system failed: the process exits with 1.
//
// Both are thrown by value and caught once, in trainer/main.cpp (or at the top of a thread, which hands the
// exception over with std::exception_ptr). Nothing is thrown out of a destructor or across a C callback.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace stoker {

// Exit codes of every command (CONTRACT, "Exit codes and messages").
enum ExitCode : int { kExitDone = 0, kExitSystem = 1, kExitUser = 2, kExitStoppedWithCheckpoint = 75 };

// Says what is wrong, where, and what to do about it. what() is "WHAT: WHERE: WHAT TO DO" in one line:
// control characters (a file's content may have got in) are replaced by '?'.
class UserError : public std::runtime_error {
 public:
  UserError(std::string_view what_is_wrong, std::string_view where, std::string_view what_to_do);
};

// A call that failed: what() is "CALL: DETAIL: WHAT TO DO".
class SystemError : public std::runtime_error {
 public:
  SystemError(std::string_view call, std::string_view detail,
              std::string_view what_to_do = "see the system's messages and try again");
};

// Throws SystemError for the current errno; `object` is the path or name the call was about.
[[noreturn]] void throw_errno(std::string_view call, std::string_view object);

// A copy of `text` whose control characters (and bytes that are no UTF-8) are replaced by '?'.
std::string printable(std::string_view text);

}  // namespace stoker
