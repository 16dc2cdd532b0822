// Host memory: 64-byte aligned, zeroed, never resized in place. Move-only; one owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace stoker {

inline constexpr std::size_t kAlignment = 64;

constexpr std::size_t align_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

class HostBuffer {
 public:
  HostBuffer() = default;
  // Throws std::bad_alloc.
  explicit HostBuffer(std::size_t bytes) : bytes_(bytes) {
    if (bytes == 0) return;
    data_.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, align_up(bytes))));
    if (!data_) throw std::bad_alloc();
    std::memset(data_.get(), 0, align_up(bytes));
  }
  std::byte* data() const { return data_.get(); }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }
  template <typename T>
  std::span<T> span_of() const {
    return {as<T>(), bytes_ / sizeof(T)};
  }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

}  // namespace stoker
