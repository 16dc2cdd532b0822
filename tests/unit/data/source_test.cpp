// What all kinds of data share: the common keys, slices, checks and digests.
#include "lib/data/source.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "lib/base/error.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using namespace stoker::data::test;
using stoker::Shape;
using stoker::UserError;
using Floats = std::vector<float>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

template <typename F>
std::string message_of(F&& f) {
  try {
    f();
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

class SourceTest : public testing::Test {
 protected:
  Folder folder_;
  // Two samples of (2, 1, 2): 0 1 | 2 3 and 4 5 | 6 7.
  std::string x_ =
      folder_.write("x.npy", npy("|u1", false, "(2, 2, 1, 2)", std::string("\0\1\2\3\4\5\6\7", 8)));

  template <typename T>
  std::string with_labels(const std::string& descr, const std::vector<T>& y) {
    const std::string n = std::to_string(y.size());
    const std::string x =
        folder_.write("xs.npy", npy("|u1", false, "(" + n + ", 1)", std::string(y.size(), '\1')));
    return "npy:" + x + "," + folder_.write("y.npy", npy(descr, false, "(" + n + ",)", bytes_of(y)));
  }
};

TEST_F(SourceTest, Normalisation) {
  EXPECT_EQ(read_all(*open_source(x_ + "?scale=1/2&offset=1")).x, (Floats{1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5}));
  EXPECT_EQ(read_all(*open_source(x_ + "?mean=1/2&std=0.5/0.25")).x, (Floats{-2, -4, 2, 4, 6, 12, 10, 20}));
  EXPECT_EQ(read_all(*open_source(x_ + "?scale=2&mean=4&std=2")).x, (Floats{-2, -1, 0, 1, 2, 3, 4, 5}));
  EXPECT_THROW(open_source(x_ + "?mean=1/2/3"), UserError);
  EXPECT_THROW(open_source(x_ + "?std=0"), UserError);
  EXPECT_THROW(open_source(x_ + "?scale=1/0"), UserError);
}

TEST_F(SourceTest, ShapeAndLayout) {
  const auto flat = open_source(x_ + "?shape=4");
  EXPECT_EQ(flat->description().x_shape, Shape{4});
  EXPECT_EQ(read_all(*flat).x, (Floats{0, 1, 2, 3, 4, 5, 6, 7}));
  const auto turned = open_source(x_ + "?layout=chw");
  EXPECT_EQ(turned->description().x_shape, (Shape{1, 2, 2}));
  EXPECT_EQ(read_all(*turned).x, (Floats{0, 2, 1, 3, 4, 6, 5, 7}));
  EXPECT_THROW(open_source(x_ + "?shape=5"), UserError);
  EXPECT_THROW(open_source(x_ + "?shape=1099511627776x1099511627776"), UserError);
  EXPECT_THROW(open_source(x_ + "?layout=cwh"), UserError);
  EXPECT_THROW(open_source(folder_.write("f.npy", npy("|u1", false, "(1,)", "a")) + "?layout=chw"),
               UserError);
}

TEST_F(SourceTest, RowsAndSlices) {
  EXPECT_EQ(read_all(*open_source(x_ + "?rows=1-1&shape=4")).x, (Floats{4, 5, 6, 7}));
  EXPECT_EQ(read_all(*open_source(x_ + "?rows=0-")).x.size(), 8u);
  for (const char* bad : {"2-", "0-2", "1-0", "-1", "1", "x-1", "0-x", "-"})
    EXPECT_THROW(open_source(x_ + "?rows=" + bad), UserError) << bad;
  write_hdf5(folder_.path("d.h5"), 100, {});
  const std::shared_ptr<const Source> whole = open_source(folder_.path("d.h5"));
  const std::shared_ptr<const Source> outer = slice(whole, 10, 50);
  const auto inner = slice(outer, 5, 7);
  EXPECT_EQ(inner->description().samples, 2);
  EXPECT_EQ(read_all(*inner).labels, (std::vector<std::int32_t>{15 % 7, 16 % 7}));
  EXPECT_EQ(inner->y_where(1), whole->y_where(16));
  EXPECT_EQ(inner->description().digest, slice(whole, 15, 17)->description().digest);
  EXPECT_NE(inner->description().digest, whole->description().digest);
}

TEST_F(SourceTest, LabelsAreChecked) {
  EXPECT_EQ(check_labels(*open_source(with_labels<std::uint8_t>("|u1", {0, 9, 3})), 10), 10);
  EXPECT_EQ(check_labels(*open_source(with_labels<double>("<f8", {0, 2, 1})), 3), 3);
  const auto said = [&](const std::string& spec, std::initializer_list<const char*> parts) {
    const auto source = open_source(spec);
    const std::string message = message_of([&] { check_labels(*source, 10); });
    for (const char* part : parts) EXPECT_TRUE(has(message, part)) << message;
  };
  said(with_labels<std::uint8_t>("|u1", {0, 255}), {"255", "y.npy", "sample 1", "0 to 9"});
  said(with_labels<std::int32_t>("<i4", {1, 2, -1}), {"-1", "sample 2"});
  said(with_labels<std::int64_t>("<i8", {(std::int64_t{1} << 32) + 1}),
       {"4294967297", "out of range", "sample 0"});
  said(with_labels<std::uint64_t>("<u8", {UINT64_MAX}), {"18446744073709551615", "sample 0"});
  said(with_labels<float>("<f4", {1, 2.5f}), {"2.5", "no whole number", "sample 1"});
  said(with_labels<float>("<f4", {std::numeric_limits<float>::quiet_NaN()}), {"nan", "sample 0"});
  said(x_, {"no labels"});
}

TEST_F(SourceTest, ABadLabelFarIntoTheFile) {
  std::vector<std::uint8_t> y(200000, 1);
  y[199999] = 10;
  const auto source = open_source(with_labels("|u1", y));
  EXPECT_TRUE(has(message_of([&] { check_labels(*source, 10); }), "sample 199999"));
}

TEST_F(SourceTest, TargetsAreChecked) {
  EXPECT_NO_THROW(check_targets_finite(*open_source(with_labels<float>("<f4", {1, 2.5f}))));
  const auto source = open_source(with_labels<double>("<f8", {1, 2, 1e300}));
  EXPECT_TRUE(has(message_of([&] { check_targets_finite(*source); }), "sample 2"));
}

TEST_F(SourceTest, LengthsMustAgree) {
  const std::string y = folder_.write("y.npy", npy("|u1", false, "(3,)", "abc"));
  EXPECT_TRUE(has(message_of([&] { open_source("npy:" + x_ + "," + y); }), "x has 2 samples and y has 3"));
}

TEST_F(SourceTest, DigestsFollowTheContentNotThePath) {
  const std::string content = npy("|u1", false, "(2, 2, 1, 2)", std::string("\0\1\2\3\4\5\6\7", 8));
  const std::string digest = open_source(x_)->description().digest;
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_EQ(open_source("npy:" + folder_.write("copy.npy", content))->description().digest, digest);
  EXPECT_NE(open_source(x_ + "?scale=2")->description().digest, digest);
  EXPECT_NE(open_source(x_ + "?shape=4")->description().digest, digest);
  std::string other = content;
  other.back() = 'x';
  EXPECT_NE(open_source(folder_.write("other.npy", other))->description().digest, digest);
}

// A sparse file of 65 MiB: its first and last pieces count, and those between.
TEST_F(SourceTest, DigestsOfLargeFiles) {
  constexpr std::int64_t kBytes = std::int64_t{65} << 20;
  const std::string path = folder_.path("large.npy");
  const std::string header = npy("|u1", false, "(1024, " + std::to_string((kBytes - 128) / 1024) + ")", "");
  const auto digest_with = [&](std::int64_t at, char value) {
    {
      std::ofstream out(path, std::ios::binary | std::ios::trunc);
      out << header;
    }
    std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::int64_t>(header.size()) + (kBytes - 128) / 1024 * 1024 - 1);
    out.put('\1');
    out.seekp(at);
    out.put(value);
    out.close();
    return open_source(path, {.memory_bytes = 1 << 20, .class_names = {}})->description().digest;
  };
  const std::string digest = digest_with(200, '\0');
  EXPECT_EQ(digest_with(200, '\0'), digest);
  EXPECT_NE(digest_with(200, '\1'), digest);
  EXPECT_NE(digest_with(kBytes - 5000, '\1'), digest);
  EXPECT_NE(digest_with((kBytes - 65536) / 1023 * 500 + 30000, '\1'), digest);
}

TEST_F(SourceTest, KindsThatCannotBeTold) {
  EXPECT_TRUE(has(error_of(folder_.write("what", "??")), "cannot tell what kind"));
  EXPECT_TRUE(has(error_of(folder_.path("")), "folder"));
  EXPECT_TRUE(has(error_of(folder_.path("missing.csv")), "No such file"));
  EXPECT_TRUE(has(error_of("/dev/null"), "no regular file"));
}

}  // namespace
