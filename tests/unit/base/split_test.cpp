#include "lib/base/split.h"

#include <gtest/gtest.h>

namespace {

using stoker::Span;
using stoker::split;

TEST(Split, PartsAreConsecutiveAndEven) {
  for (std::int64_t n = 0; n < 40; ++n)
    for (std::int64_t parts = 1; parts < 20; ++parts) {
      std::int64_t end = 0;
      for (std::int64_t part = 0; part < parts; ++part) {
        const Span span = split(n, parts, part);
        EXPECT_EQ(span.begin, end);
        EXPECT_EQ(span.begin, part * n / parts);
        EXPECT_GE(span.size(), n / parts);
        EXPECT_LE(span.size(), n / parts + 1);
        end = span.end;
      }
      EXPECT_EQ(end, n);
    }
}

TEST(Split, LargeNumbersDoNotOverflow) {
  const std::int64_t n = std::int64_t{1} << 62;
  EXPECT_EQ(split(n, 3, 2).end, n);
  EXPECT_EQ(split(n, 3, 1), (Span{n / 3, 2 * (n / 3)}));
}

}  // namespace
