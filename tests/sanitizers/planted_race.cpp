// A data race between a worker and the main thread, in the manner of a writer whose length is read without its
// lock: ThreadSanitizer must report it with the tree's suppressions in force (tests/sanitizers/test_threads.py).
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace {

class Writer {
 public:
  void append(int value) {
    const std::lock_guard lock(mutex_);
    written_.push_back(value);
    ++length_;
  }
  int length() const { return length_; }  // the race: the lock is missing

 private:
  std::mutex mutex_;
  std::vector<int> written_;
  int length_ = 0;
};

}  // namespace

int main() {
  Writer writer;
  std::thread worker([&writer] {
    for (int i = 0; i < 1000; ++i) writer.append(i);
  });
  const int early = writer.length();
  worker.join();
  std::printf("%d %d\n", early, writer.length());
  return 0;
}
