#include "lib/data/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using test::bytes_of;

template <typename T>
std::vector<float> converted(ElementKind kind, const std::vector<T>& values, bool swapped) {
  const std::string bytes = bytes_of(values, swapped);
  std::vector<float> out(values.size());
  to_floats({kind, swapped}, reinterpret_cast<const std::byte*>(bytes.data()),
            static_cast<std::int64_t>(out.size()), out.data());
  return out;
}

template <typename T>
std::optional<std::int64_t> integer(ElementKind kind, T value, bool swapped = false) {
  const std::string bytes = bytes_of(std::vector<T>{value}, swapped);
  return to_integer({kind, swapped}, reinterpret_cast<const std::byte*>(bytes.data()));
}

TEST(Element, ConvertsEveryTypeInBothByteOrders) {
  for (const bool swapped : {false, true}) {
    EXPECT_EQ(converted<std::uint8_t>(ElementKind::boolean, {0, 1, 255}, swapped),
              (std::vector<float>{0, 1, 1}));
    EXPECT_EQ(converted<std::uint8_t>(ElementKind::u8, {0, 255}, swapped), (std::vector<float>{0, 255}));
    EXPECT_EQ(converted<std::int8_t>(ElementKind::i8, {-128, 127}, swapped), (std::vector<float>{-128, 127}));
    EXPECT_EQ(converted<std::uint16_t>(ElementKind::u16, {1, 65535}, swapped),
              (std::vector<float>{1, 65535}));
    EXPECT_EQ(converted<std::int16_t>(ElementKind::i16, {-2, 300}, swapped), (std::vector<float>{-2, 300}));
    EXPECT_EQ(converted<std::uint32_t>(ElementKind::u32, {1, 1u << 31}, swapped),
              (std::vector<float>{1, 0x1p31f}));
    EXPECT_EQ(converted<std::int32_t>(ElementKind::i32, {-70000, 5}, swapped),
              (std::vector<float>{-70000, 5}));
    EXPECT_EQ(converted<std::uint64_t>(ElementKind::u64, {7, 1ull << 63}, swapped),
              (std::vector<float>{7, 0x1p63f}));
    EXPECT_EQ(converted<std::int64_t>(ElementKind::i64, {-7, 1ll << 40}, swapped),
              (std::vector<float>{-7, 0x1p40f}));
    EXPECT_EQ(converted<std::uint16_t>(ElementKind::f16, {0x3C00, 0xC100}, swapped),
              (std::vector<float>{1, -2.5}));
    EXPECT_EQ(converted<float>(ElementKind::f32, {1.5f, -0.1f}, swapped), (std::vector<float>{1.5f, -0.1f}));
    EXPECT_EQ(converted<double>(ElementKind::f64, {1.5, 0.1}, swapped), (std::vector<float>{1.5f, 0.1f}));
  }
}

// Every one of the 65,536 halves against its definition: (−1)^s · 2^(e−15) · (1 + f/1024), or 2^−14 · f/1024 for e = 0.
TEST(Element, EveryHalf) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double sign = (bits & 0x8000) != 0 ? -1 : 1, fraction = bits & 0x3FF;
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      EXPECT_EQ(std::isinf(value), fraction == 0);
    } else {
      const double expected =
          sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
      EXPECT_EQ(value, expected);
    }
    EXPECT_EQ(std::signbit(value), sign < 0);
  }
}

TEST(Element, OnlyWholeNumbersAreIntegers) {
  EXPECT_EQ(integer<double>(ElementKind::f64, 3.0), 3);
  EXPECT_EQ(integer<double>(ElementKind::f64, -3.0, true), -3);
  EXPECT_EQ(integer<float>(ElementKind::f32, 2.5f), std::nullopt);
  EXPECT_EQ(integer<double>(ElementKind::f64, std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  EXPECT_EQ(integer<double>(ElementKind::f64, std::numeric_limits<double>::infinity()), std::nullopt);
  EXPECT_EQ(integer<double>(ElementKind::f64, 1e19), std::nullopt);
  EXPECT_EQ(integer<std::uint64_t>(ElementKind::u64, UINT64_MAX), std::nullopt);
  EXPECT_EQ(integer<std::uint64_t>(ElementKind::u64, INT64_MAX), INT64_MAX);
  EXPECT_EQ(integer<std::int64_t>(ElementKind::i64, INT64_MIN), INT64_MIN);
  EXPECT_EQ(integer<std::uint8_t>(ElementKind::u8, 255), 255);
}

}  // namespace
