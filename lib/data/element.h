// The element types that data files hold, and their conversion to what training uses. Pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stoker::data {

enum class ElementKind : std::uint8_t { boolean, u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f64 };

struct Element {
  ElementKind kind = ElementKind::f32;
  bool swapped = false;  // the bytes are in the order that this machine's is not
  bool operator==(const Element&) const = default;
};

std::size_t size_of(Element element);       // bytes
std::string_view name_of(Element element);  // "uint8", as NumPy writes it
bool is_integer(Element element);           // booleans too

// `count` elements at `in` (no alignment needed) as fp32: the nearest one; booleans are 0 or 1.
void to_floats(Element element, const std::byte* in, std::int64_t count, float* out);

// The element at `in` as an integer; nothing when it is no whole number or beyond 64 bits.
std::optional<std::int64_t> to_integer(Element element, const std::byte* in);

// The element at `in` as a person writes it, for messages.
std::string to_text(Element element, const std::byte* in);

// IEEE 754 binary16 to binary32, exact.
float half_to_float(std::uint16_t bits);

}  // namespace stoker::data
