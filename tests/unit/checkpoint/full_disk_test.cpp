// A disk that is full at every single call. The functions below stand before those of libc, for HDF5 too, and
// let the call with a chosen number fail with ENOSPC.
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "lib/base/files.h"
#include "tests/unit/checkpoint/checkpoint_fixture.h"

namespace {

std::atomic<bool> armed{false};
std::atomic<bool> stays_full{false};  // every call from the chosen one on fails, not that one alone
std::atomic<int> calls{0};
std::atomic<int> failing_call{0};

bool disk_is_full() {
  if (!armed) return false;
  const int call = ++calls;
  if (call != failing_call && !(stays_full && call > failing_call)) return false;
  errno = ENOSPC;
  return true;
}

template <typename F>
F* next(const char* name) {
  return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

int open_unless_full(const char* name, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && disk_is_full()) return -1;
  return next<int(const char*, int, ...)>(name)(path, flags, mode);
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t bytes) {
  if (fd > STDERR_FILENO && disk_is_full()) return -1;
  return next<ssize_t(int, const void*, size_t)>("write")(fd, data, bytes);
}
ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  if (disk_is_full()) return -1;
  return next<ssize_t(int, const void*, size_t, off_t)>("pwrite")(fd, data, bytes, offset);
}
ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t offset) {
  if (disk_is_full()) return -1;
  return next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64")(fd, data, bytes, offset);
}
int fsync(int fd) {
  if (disk_is_full()) return -1;
  return next<int(int)>("fsync")(fd);
}
int rename(const char* from, const char* to) noexcept {
  if (disk_is_full()) return -1;
  return next<int(const char*, const char*)>("rename")(from, to);
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (disk_is_full()) return -1;
  return next<int(const char*, mode_t)>("mkdir")(path, mode);
}
int fallocate(int fd, int mode, off_t offset, off_t bytes) {
  if (disk_is_full()) return -1;
  return next<int(int, int, off_t, off_t)>("fallocate")(fd, mode, offset, bytes);
}
int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_full("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_unless_full("open64", path, flags, mode);
}

}  // extern "C"

namespace stoker::checkpoint {
namespace {

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                                std::filesystem::directory_iterator()));
}

// Saves step 2 with the disk full at call number `call`; returns how many calls there were.
int save_with_full_disk(TestRun& run, int call, SaveState& outcome) {
  calls = 0;
  failing_call = call;
  armed = true;
  outcome = run.save(2);
  armed = false;
  return calls;
}

class FullDisk : public ::testing::TestWithParam<bool> {};

TEST_P(FullDisk, AtAnyCallLeavesTheOlderCheckpointAndTheNextSaveGood) {
  stays_full = GetParam();
  int failed = 0, committed_with_a_note = 0, total = 1'000;
  for (int call = 1; call <= total; ++call) {
    const TestFolder folder;
    TestRun run(folder.path(), 2, /*keep=*/1);
    ASSERT_EQ(run.save(1), SaveState::committed);
    const std::size_t descriptors = open_descriptors();
    SaveState outcome = SaveState::idle;
    const int made = save_with_full_disk(run, call, outcome);
    if (made < call) {  // beyond the last call: nothing failed
      total = made;
      EXPECT_EQ(outcome, SaveState::committed);
      break;
    }
    SCOPED_TRACE("call " + std::to_string(call) + ": " + run.message());
    EXPECT_EQ(open_descriptors(), descriptors);
    if (outcome == SaveState::failed) {
      ++failed;
      expect_holds(folder / "step-00000001", 1);
      EXPECT_NE(run.message().find("No space left"), std::string::npos);
      EXPECT_EQ(complete_steps(folder.path()), std::vector<std::int64_t>({1}));
      EXPECT_FALSE(path_exists(folder / "step-00000002"));  // the partial files are gone
    } else {
      expect_holds(folder / "step-00000002", 2);
      committed_with_a_note += run.message().empty() ? 0 : 1;
    }
    ASSERT_EQ(run.save(3), SaveState::committed) << run.message();
    expect_holds(folder / "step-00000003", 3);
    EXPECT_EQ(complete_steps(folder.path()), std::vector<std::int64_t>({3}));
  }
  EXPECT_LT(total, 1'000);
  EXPECT_GE(failed, 18);                // data, manifest, their fsync and rename
  EXPECT_GE(committed_with_a_note, 4);  // `latest`: open, write, fsync, rename
}

INSTANTIATE_TEST_SUITE_P(OnceOrForGood, FullDisk, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "StaysFull" : "OneCall"; });

}  // namespace
}  // namespace stoker::checkpoint
