#include "lib/data/element.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "lib/base/text.h"

namespace stoker::data {
namespace {

struct ElementTraits {
  std::string_view name;
  std::size_t bytes;
};

// In the order of ElementKind.
constexpr ElementTraits kTraits[] = {{"bool", 1},  {"uint8", 1},   {"int8", 1},    {"uint16", 2},
                                     {"int16", 2}, {"uint32", 4},  {"int32", 4},   {"uint64", 8},
                                     {"int64", 8}, {"float16", 2}, {"float32", 4}, {"float64", 8}};

// A value of T from unaligned bytes.
template <typename T>
T load(const std::byte* in, bool swapped) {
  std::byte bytes[sizeof(T)];
  if (swapped)
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = in[sizeof(T) - 1 - i];
  else
    std::memcpy(bytes, in, sizeof(T));
  return std::bit_cast<T>(bytes);
}

// Calls f with the type that holds the element, and how to turn that into a number.
template <typename F>
auto dispatch(ElementKind kind, F&& f) {
  const auto same = [](auto value) { return value; };
  switch (kind) {
    case ElementKind::boolean:
      return f(std::uint8_t{}, [](std::uint8_t value) { return value != 0 ? 1 : 0; });
    case ElementKind::u8:
      return f(std::uint8_t{}, same);
    case ElementKind::i8:
      return f(std::int8_t{}, same);
    case ElementKind::u16:
      return f(std::uint16_t{}, same);
    case ElementKind::i16:
      return f(std::int16_t{}, same);
    case ElementKind::u32:
      return f(std::uint32_t{}, same);
    case ElementKind::i32:
      return f(std::int32_t{}, same);
    case ElementKind::u64:
      return f(std::uint64_t{}, same);
    case ElementKind::i64:
      return f(std::int64_t{}, same);
    case ElementKind::f16:
      return f(std::uint16_t{}, half_to_float);
    case ElementKind::f32:
      return f(float{}, same);
    case ElementKind::f64:
      break;
  }
  return f(double{}, same);
}

}  // namespace

std::size_t size_of(Element element) { return kTraits[static_cast<std::size_t>(element.kind)].bytes; }

std::string_view name_of(Element element) { return kTraits[static_cast<std::size_t>(element.kind)].name; }

bool is_integer(Element element) { return element.kind < ElementKind::f16; }

void to_floats(Element element, const std::byte* in, std::int64_t count, float* out) {
  // Blocks of fixed size in local arrays, which alias nothing: compilers turn them into vector instructions.
  constexpr std::int64_t kBlock = 32;
  dispatch(element.kind, [&](auto type, auto number) {
    using T = decltype(type);
    T values[kBlock];
    float floats[kBlock];
    std::int64_t i = 0;
    for (; !element.swapped && i + kBlock <= count; i += kBlock) {
      std::memcpy(values, in + i * sizeof(T), sizeof values);
      for (std::int64_t k = 0; k < kBlock; ++k) floats[k] = static_cast<float>(number(values[k]));
      std::memcpy(out + i, floats, sizeof floats);
    }
    for (; i < count; ++i) out[i] = static_cast<float>(number(load<T>(in + i * sizeof(T), element.swapped)));
  });
}

std::optional<std::int64_t> to_integer(Element element, const std::byte* in) {
  return dispatch(element.kind, [&](auto type, auto number) -> std::optional<std::int64_t> {
    const auto value = number(load<decltype(type)>(in, element.swapped));
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) return std::nullopt;
    } else if constexpr (std::is_same_v<decltype(value), const std::uint64_t>) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    }
    return static_cast<std::int64_t>(value);
  });
}

std::string to_text(Element element, const std::byte* in) {
  return dispatch(element.kind, [&](auto type, auto number) -> std::string {
    const auto value = number(load<decltype(type)>(in, element.swapped));
    if constexpr (std::is_floating_point_v<decltype(value)>)
      return format_double(static_cast<double>(value));
    else
      return std::to_string(value);
  });
}

float half_to_float(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31u, fraction = bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | fraction << 13);
  if (exponent == 0) {  // zero and subnormals: fraction · 2^-24
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

}  // namespace stoker::data
