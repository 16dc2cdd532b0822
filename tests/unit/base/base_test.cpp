#include <gtest/gtest.h>

#include <clocale>
#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/hash.h"
#include "lib/base/philox.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

namespace stoker {
namespace {

TEST(Error, StaysOneLineWhateverAFileHeld) {
  const UserError e("bad\nname", "a\x1b[31mfile\xff", "mend it");
  EXPECT_STREQ(e.what(), "bad?name: a?[31mfile?: mend it");
  EXPECT_EQ(printable("größe"), "größe");
}

TEST(Error, KnowsUtf8) {
  EXPECT_TRUE(is_utf8("") && is_utf8("a\n") && is_utf8("größe €"));
  EXPECT_FALSE(is_utf8("caf\xe9") || is_utf8("\xff") || is_utf8("a\xc3"));
}

// The known answers that come with the Random123 library (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  const Philox4 zero = philox(0, 0, 0);
  EXPECT_EQ(zero.v[0], 0x6627e8d5u);
  EXPECT_EQ(zero.v[1], 0xe169c58du);
  EXPECT_EQ(zero.v[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.v[3], 0x9b00dbd8u);
  const Philox4 ones = philox(~0ull, ~0ull, ~0ull);
  EXPECT_EQ(ones.v[0], 0x408f276du);
  EXPECT_EQ(ones.v[1], 0x41c83b0eu);
  EXPECT_EQ(ones.v[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.v[3], 0x6d5451fdu);
}

// RFC 3720, B.4: 32 bytes of zeros, of ones, and rising.
TEST(Crc32c, KnownAnswers) {
  const std::string zeros(32, '\0'), ones(32, '\xff');
  std::string rising;
  for (int i = 0; i < 32; ++i) rising.push_back(static_cast<char>(i));
  EXPECT_EQ(crc32c(zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(ones.data(), 32), 0x62a8ab43u);
  EXPECT_EQ(crc32c(rising.data(), 32), 0x46dd794eu);
}

TEST(Text, NumbersIgnoreTheLocale) {
  std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse_double("1.5").value(), 1.5);
  EXPECT_EQ(format_double(0.1), "0.1");
  EXPECT_FALSE(parse_double("1,5"));
  EXPECT_FALSE(parse_double(""));
  EXPECT_FALSE(parse_int("12x"));
  EXPECT_EQ(parse_int("+7").value(), 7);
  EXPECT_FALSE(parse_int("+-7"));
}

TEST(Text, NamedOptions) {
  const NamedOptions o = parse_named_options("sgd:momentum=0.9,nesterov=true", "--optimizer");
  EXPECT_EQ(o.name, "sgd");
  EXPECT_EQ(o.values.at("momentum"), "0.9");
  EXPECT_THROW(parse_named_options("sgd:momentum", "--optimizer"), UserError);
  EXPECT_THROW(parse_named_options("sgd:a=1,a=2", "--optimizer"), UserError);
  EXPECT_THROW(parse_named_options(":a=1", "--optimizer"), UserError);
}

TEST(Text, Glob) {
  EXPECT_TRUE(glob_match("conv*_bn", "conv2_block1_bn"));
  EXPECT_FALSE(glob_match("conv*_bn", "conv2_block1_bn2"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("a?c*", "abc"));
}

TEST(Files, AtomicWriteAndLock) {
  const std::string dir = testing::TempDir() + "/stoker-base-test";
  std::filesystem::remove_all(dir);
  make_directories(dir + "/a/b");
  write_file_atomically(dir + "/a/b/f", "one");
  write_file_atomically(dir + "/a/b/f", "two");
  EXPECT_EQ(read_file(dir + "/a/b/f"), "two");
  EXPECT_THROW(read_file(dir + "/a"), UserError);
  EXPECT_THROW(read_file(dir + "/none"), UserError);
  EXPECT_THROW(make_directories(dir + "/a/b/f/g"), UserError);
  const DirectoryLock lock(dir);
  EXPECT_THROW(DirectoryLock{dir}, UserError);
}

TEST(Hash, PiecesEqualTheWhole) {
  Hash128 whole, pieces;
  whole.update("abcdef");
  pieces.update("abc");
  pieces.update("def");
  EXPECT_EQ(whole.hex(), pieces.hex());
  EXPECT_EQ(whole.hex().size(), 32u);
}

}  // namespace
}  // namespace stoker
