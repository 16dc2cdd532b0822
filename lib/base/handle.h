// Owners of things that C libraries hand out: one owner each, released in the destructor, moved but not
// copied.
#pragma once

#include <unistd.h>

#include <utility>

namespace stoker {

// A handle of a value type T whose "nothing" is `Nothing` and which `Close(T)` releases, e.g.
//   using File = Handle<hid_t, H5Fclose, -1>;
// The result of Close is ignored: where a failing close must be seen, call release() and close by hand.
template <typename T, auto Close, T Nothing>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, Nothing)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) reset(std::exchange(other.value_, Nothing));
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { reset(); }

  T get() const { return value_; }
  explicit operator bool() const { return value_ != Nothing; }
  T release() { return std::exchange(value_, Nothing); }
  void reset(T value = Nothing) {
    if (value_ != Nothing) static_cast<void>(Close(value_));
    value_ = value;
  }

 private:
  T value_ = Nothing;
};

using FileDescriptor = Handle<int, ::close, -1>;

}  // namespace stoker
