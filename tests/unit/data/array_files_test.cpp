// IDX, NPY, NPZ and CIFAR: arrays in files of bytes.
#include <gtest/gtest.h>

#include <numeric>

#include "lib/base/error.h"
#include "lib/data/source.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using namespace stoker::data::test;
using stoker::Shape;
using Floats = std::vector<float>;
using Labels = std::vector<std::int32_t>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kPixels("\x00\x01\x02\x03\x04\x05\x06\x07\xFF\x09\x0A\x0B", 12);
const Floats kPixelValues{0, 1, 2, 3, 4, 5, 6, 7, 255, 9, 10, 11};

TEST(Idx, PlainAndCompressedUnderAnyName) {
  const Folder folder;
  const std::string images = idx(8, {3, 2, 2}, kPixels), labels = idx(8, {3}, "\x05\x06\x07");
  const std::string y = folder.write("labels-idx1-ubyte", labels);
  for (const std::string& x :
       {folder.write("plain-idx3-ubyte", images), folder.write("a.gz", gzip(images)),
        folder.write("gzip-under-a-plain-name", gzip(images)), folder.write("plain.gz", images)})
    for (const std::string& spec : {"idx:" + x + "," + y, x + "," + y}) {
      const auto source = open_source(spec);
      EXPECT_EQ(source->description().x_shape, (Shape{2, 2}));
      EXPECT_EQ(source->description().y_kind, TargetKind::labels);
      EXPECT_EQ(read_all(*source).x, kPixelValues);
      EXPECT_EQ(read_all(*source).labels, (Labels{5, 6, 7}));
    }
}

TEST(Idx, BigEndianNumbersAndSeveralGzipMembers) {
  const Folder folder;
  const std::string data = idx(0x0D, {2, 1}, bytes_of(Floats{1.5f, -2}, true));
  const std::string x =
      folder.write("x.gz", gzip(data.substr(0, 9)) + gzip(data.substr(9)) + std::string(100, '\0'));
  EXPECT_EQ(read_all(*open_source("idx:" + x)).x, (Floats{1.5f, -2}));
}

TEST(Idx, ImpossibleClaimsAreRefusedBeforeMemoryIsTaken) {
  const Folder folder;
  const std::string huge = idx(8, {0xFFFFFFFF, 0x7FFFFF, 2}, "ab");
  EXPECT_TRUE(has(error_of("idx:" + folder.write("a", huge)), "truncated"));
  EXPECT_TRUE(has(error_of("idx:" + folder.write("b", gzip(huge))), "truncated"));
  EXPECT_TRUE(has(error_of("idx:" + folder.write("c", idx(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, ""))),
                  "impossibly large"));
  EXPECT_TRUE(has(error_of("idx:" + folder.write("d", idx(8, {0, 2}, ""))), "no samples"));
  EXPECT_TRUE(has(error_of("idx:" + folder.write("e", idx(8, {2, 0}, ""))), "empty"));
  EXPECT_TRUE(has(error_of("idx:" + folder.write("f", idx(8, {2}, "abc"))), "more data"));
  EXPECT_TRUE(has(error_of("idx:" + folder.write("g", idx(7, {2}, "ab"))), "not an IDX file"));
}

TEST(Npy, OrdersAndTypes) {
  const Folder folder;
  Floats values(12);
  std::iota(values.begin(), values.end(), 0.0f);
  // (2, 3, 2) in Fortran order: element (i, j, k) at i + 2 j + 6 k.
  Floats fortran(12);
  for (int i = 0; i < 12; ++i)
    fortran[static_cast<std::size_t>(i / 6 + 2 * (i / 2 % 3) + 6 * (i % 2))] = static_cast<float>(i);
  for (const bool big : {false, true})
    for (const bool turned : {false, true})
      for (const bool compressed : {false, true}) {
        std::string file =
            npy(big ? ">f4" : "<f4", turned, "(2, 3, 2)", bytes_of(turned ? fortran : values, big));
        if (compressed) file = gzip(file);
        const auto source = open_source("npy:" + folder.write("x.npy", file));
        EXPECT_EQ(source->description().x_shape, (Shape{3, 2}));
        EXPECT_EQ(read_all(*source).x, values);
        EXPECT_EQ(source->description().y_kind, TargetKind::none);
      }
  const std::string half =
      folder.write("h.npy", npy("<f2", false, "(2,)", bytes_of(std::vector<std::uint16_t>{0x3C00, 0xC000})));
  EXPECT_EQ(read_all(*open_source(half)).x, (Floats{1, -2}));
  EXPECT_EQ(open_source(half)->description().x_shape, Shape{1});
  const std::string truth = folder.write("b.npy", npy("|b1", false, "(2,)", std::string("\x01\x00", 2)));
  EXPECT_EQ(read_all(*open_source(half + "," + truth)).labels, (Labels{1, 0}));
}

TEST(Npy, WhatIsRefused) {
  const Folder folder;
  const auto error = [&](const std::string& content) {
    return error_of("npy:" + folder.write("x.npy", content));
  };
  EXPECT_TRUE(has(error(npy("<f4", false, "()", "abcd")), "no dimension"));
  EXPECT_TRUE(has(error(npy("<f4", false, "(0, 3)", "")), "no samples"));
  EXPECT_TRUE(has(error(npy("<f4", false, "(2, 3)", "abcd")), "truncated"));
  EXPECT_TRUE(has(error(npy("<f4", true, "(2, 3)", "abcd")), "truncated"));
  EXPECT_TRUE(has(error(npy("<f4", false, "(1152921504606846976, 3)", "abcd")), "impossibly large"));
  EXPECT_TRUE(has(error(npy("<f4", false, "(1099511627776, 3)", "abcd")), "truncated"));
  EXPECT_TRUE(has(error(gzip(npy("<f4", false, "(1099511627776, 3)", "abcd"))), "truncated"));
  EXPECT_TRUE(has(error(npy("<f4", false, "(99999999999999999999,)", "abcd")), "header"));
  EXPECT_TRUE(has(error(npy("|O", false, "(1,)", "abcd")), "no numbers"));
  EXPECT_TRUE(has(error(npy("<U4", false, "(1,)", "abcd")), "no numbers"));
  EXPECT_TRUE(has(error(npy("<c8", false, "(1,)", "abcdefgh")), "no numbers"));
  EXPECT_TRUE(has(error("nonsense"), "not a .npy array"));
}

TEST(Npz, StoredDeflatedAndZip64) {
  const Folder folder;
  const std::string x = npy("|u1", false, "(3, 2, 2)", kPixels),
                    y = npy("<i8", false, "(3, 1)", bytes_of(std::vector<std::int64_t>{2, 1, 0}));
  for (const bool deflate : {false, true})
    for (const bool zip64 : {false, true}) {
      const std::string path = folder.write(
          "d.npz",
          zip({{"x_train.npy", x, deflate}, {"y_train.npy", y, deflate}, {"note.txt", "hello"}}, zip64));
      for (const std::string& spec : {path, "npz:" + path + "?x=x_train&y=y_train"}) {
        const auto source = open_source(spec);
        EXPECT_EQ(read_all(*source).x, kPixelValues);
        EXPECT_EQ(read_all(*source).labels, (Labels{2, 1, 0}));
      }
      EXPECT_EQ(open_source(path + "?y=none")->description().y_kind, TargetKind::none);
      EXPECT_TRUE(has(error_of(path + "?x=z"), "it has x_train, y_train"));
    }
}

TEST(Npz, DamageIsFoundByTheChecksum) {
  const Folder folder;
  std::string file = zip({{"x.npy", npy("|u1", false, "(3, 2, 2)", kPixels)}});
  file[file.find(kPixels) + 5] ^= 1;
  EXPECT_TRUE(has(error_of("npz:" + folder.write("d.npz", file)), "checksum"));
  EXPECT_TRUE(
      has(error_of("npz:" + folder.write("e.npz", file.substr(0, file.size() - 1))), "not a whole zip"));
  EXPECT_TRUE(has(error_of("npz:" + folder.write("f.npz", "")), "not a whole zip"));
}

TEST(Arrays, LargeOnesAreReadInPlace) {
  const Folder folder;
  const std::string x = folder.write("x.npy", npy("|u1", false, "(3, 2, 2)", kPixels));
  const auto source = open_source("npy:" + x, {.memory_bytes = 1, .class_names = {}});  // nothing may be held
  EXPECT_EQ(read_some(*source, {2, 0, 1, 1}).x, (Floats{255, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7}));
  const std::string turned = folder.write("t.npy", npy("|u1", true, "(3, 2, 2)", kPixels));
  EXPECT_THROW(open_source("npy:" + turned, {.memory_bytes = 1, .class_names = {}}), stoker::UserError);
}

TEST(Arrays, InPlaceTheyAreAsLongAsTheirHeadersSay) {
  const Folder folder;
  const OpenOptions nothing_held{.memory_bytes = 1, .class_names = {}};
  for (const auto& [shape, what] :
       {std::pair{"(4, 2, 2)", "truncated"}, std::pair{"(2, 2, 2)", "more data"}}) {
    const std::string array = npy("|u1", false, shape, kPixels);
    EXPECT_TRUE(has(error_of("npy:" + folder.write("x.npy", array), nothing_held), what));
    EXPECT_TRUE(has(error_of("npz:" + folder.write("x.npz", zip({{"x.npy", array}})), nothing_held), what));
  }
}

// A CIFAR-10 batch of two records; pixel (row, column) of channel c is 100 c + row + column.
std::string cifar_record(std::string_view labels) {
  std::string record(labels);
  for (int c = 0; c < 3; ++c)
    for (int row = 0; row < 32; ++row)
      for (int column = 0; column < 32; ++column) record.push_back(static_cast<char>(60 * c + row + column));
  return record;
}

TEST(Cifar, FoldersAndChannelsLast) {
  const Folder folder;
  for (int i = 1; i <= 5; ++i)
    folder.write("data_batch_" + std::to_string(i) + ".bin",
                 cifar_record(std::string(1, static_cast<char>(i))) + cifar_record("\x09"));
  folder.write("test_batch.bin", cifar_record("\x07"));
  for (const std::uint64_t memory : {std::uint64_t{0}, std::uint64_t{1}}) {
    const auto source =
        open_source("cifar10:" + folder.path(""), {.memory_bytes = memory, .class_names = {}});
    EXPECT_EQ(source->description().x_shape, (Shape{32, 32, 3}));
    EXPECT_EQ(source->description().classes, 10);
    const Content content = read_all(*source);
    EXPECT_EQ(content.labels, (Labels{1, 9, 2, 9, 3, 9, 4, 9, 5, 9}));
    const std::size_t pixel = 3072 + (3 * 32 + 4) * 3;  // of sample 1
    EXPECT_EQ(content.x[pixel], 7);
    EXPECT_EQ(content.x[pixel + 1], 67);
    EXPECT_EQ(content.x[pixel + 2], 127);
  }
  EXPECT_EQ(read_all(*open_source(folder.path("") + "?part=test")).labels, Labels{7});
  folder.write("test_batch.bin", cifar_record("\x07").substr(1));
  EXPECT_TRUE(has(error_of("cifar10:" + folder.path("") + "?part=test"), "not whole CIFAR records"));
}

TEST(Cifar, HundredHasTwoLabels) {
  const Folder folder;
  folder.write("train.bin", cifar_record("\x02\x11"));
  EXPECT_EQ(read_all(*open_source(folder.path(""))).labels, Labels{17});
  EXPECT_EQ(read_all(*open_source("cifar100:" + folder.path("") + "?labels=coarse")).labels, Labels{2});
  EXPECT_EQ(open_source("cifar100:" + folder.path("") + "?labels=coarse")->description().classes, 20);
}

}  // namespace
