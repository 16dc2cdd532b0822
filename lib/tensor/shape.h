// Shapes and element types. Value types, thread-safe to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace stoker {

enum class DType : std::uint8_t { f32, f64, bf16, f16, i32, i64, u8 };

std::size_t size_of(DType type);       // bytes an element
std::string_view name_of(DType type);  // "float32", as NumPy and Keras write it

// Row-major dimensions, all ≥ 0; a scalar has none.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<std::int64_t> dims) : dims_(std::move(dims)) {}

  std::size_t rank() const { return dims_.size(); }
  std::int64_t operator[](std::size_t axis) const { return dims_[axis]; }
  std::int64_t& operator[](std::size_t axis) { return dims_[axis]; }
  std::int64_t back() const { return dims_.back(); }
  std::int64_t elements() const;  // 1 for a scalar
  const std::vector<std::int64_t>& dims() const { return dims_; }

  Shape with_batch(std::int64_t n) const;  // (n, dims…)
  Shape without_batch() const;             // drops the first axis

  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::int64_t> dims_;
};

std::string to_string(const Shape& shape);  // "(64, 28, 28, 1)"

}  // namespace stoker
