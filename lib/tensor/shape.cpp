#include "lib/tensor/shape.h"

namespace stoker {

std::size_t size_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::u8:
      return 1;
  }
  return 0;
}

std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
    case DType::i32:
      return "int32";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
  }
  return "";
}

std::int64_t Shape::elements() const {
  std::int64_t n = 1;
  for (const std::int64_t d : dims_) n *= d;
  return n;
}

Shape Shape::with_batch(std::int64_t n) const {
  std::vector<std::int64_t> dims{n};
  dims.insert(dims.end(), dims_.begin(), dims_.end());
  return Shape(std::move(dims));
}

Shape Shape::without_batch() const {
  return Shape(std::vector<std::int64_t>(dims_.begin() + 1, dims_.end()));
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.rank(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.rank() == 1 ? ",)" : ")");
}

}  // namespace stoker
