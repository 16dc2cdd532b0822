#include <gtest/gtest.h>

#include <numeric>

#include "lib/base/error.h"
#include "lib/data/source.h"
#include "lib/hdf5/hdf5_file.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using namespace stoker::data::test;
using stoker::Shape;
namespace hdf5 = stoker::hdf5;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void expect_sample(const Content& content, std::size_t i, std::int64_t index) {
  for (std::size_t k = 0; k < 6; ++k)
    EXPECT_EQ(content.x[6 * i + k], static_cast<float>(10 * index) + static_cast<float>(k));
  EXPECT_EQ(content.labels[i], index % 7);
}

// Contiguous, chunked and compressed, held in memory and read by the batch: the same samples in any order, with repeats.
TEST(Hdf5Source, EveryLayoutGivesTheSameSamples) {
  const Folder folder;
  const std::string path = folder.path("d.h5");
  for (const Hdf5Kind kind :
       {Hdf5Kind{}, Hdf5Kind{1, false}, Hdf5Kind{16, false}, Hdf5Kind{16, true}, Hdf5Kind{100, true}})
    for (const std::uint64_t memory :
         {std::uint64_t{0}, std::uint64_t{8000}}) {  // all of x takes 24,000 bytes
      write_hdf5(path, 1000, kind);
      const auto source = open_source(path, {.memory_bytes = memory, .class_names = {}});
      EXPECT_EQ(source->description().samples, 1000);
      EXPECT_EQ(source->description().x_shape, (Shape{2, 3}));
      const std::vector<std::int64_t> indices{999, 0, 500, 501, 502, 0, 17, 16, 15};
      const Content content = read_some(*source, indices);
      for (std::size_t i = 0; i < indices.size(); ++i) expect_sample(content, i, indices[i]);
      const Content all = read_all(*source);
      for (std::size_t i = 0; i < 1000; ++i) expect_sample(all, i, static_cast<std::int64_t>(i));
    }
}

TEST(Hdf5Source, ChunksThatDoNotFitAreSaidAndStillRead) {
  const Folder folder;
  write_hdf5(folder.path("d.h5"), 1000, {16, true});
  EXPECT_TRUE(
      has(open_source(folder.path("d.h5"), {.memory_bytes = 8000, .class_names = {}})->description().advice,
          "decompresses a chunk of 16 samples"));
  EXPECT_EQ(open_source(folder.path("d.h5"))->description().advice, "");
  EXPECT_THROW(open_source(folder.path("d.h5"), {.memory_bytes = 100, .class_names = {}}), stoker::UserError);
}

TEST(Hdf5Source, NamesOfXAndY) {
  const Folder folder;
  const std::string path = folder.path("d.h5");
  {
    hdf5::File file = hdf5::File::create(path);
    const std::vector<float> x(6, 1.0f);
    const std::vector<std::int64_t> y{1, 2, 3};
    file.make_group("part");
    for (const char* name : {"images", "part/x", "other"})
      file.write(name, Shape{3, 2}, H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, x.data());
    for (const char* name : {"labels", "part/y", "z"})
      file.write(name, Shape{3}, H5T_STD_I16BE, H5T_NATIVE_INT64, y.data());
    file.close();
  }
  EXPECT_EQ(read_all(*open_source(path)).labels, (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_EQ(read_all(*open_source(path)).x, std::vector<float>(6, 1.0f));
  EXPECT_EQ(open_source(path + "?x=part/x")->description().y_kind, TargetKind::labels);
  EXPECT_EQ(open_source(path + "?x=/part/x")->description().y_kind, TargetKind::labels);
  EXPECT_EQ(open_source(path + "?x=other")->description().y_kind, TargetKind::none);
  EXPECT_EQ(open_source(path + "?x=other&y=z")->description().y_kind, TargetKind::labels);
  const std::string message = error_of("hdf5:" + path + "?x=nothing");
  EXPECT_TRUE(has(message, "images (3, 2)") && has(message, "part/y (3,)")) << message;
}

TEST(Hdf5Source, LinksThatLeadBackOrNowhere) {
  const Folder folder;
  const std::string path = folder.path("d.h5");
  {
    hdf5::File file = hdf5::File::create(path);
    const float x[] = {1, 2};
    file.write("group/x", Shape{2, 1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, x);
    H5Lcreate_hard(file.id(), "/", file.id(), "group/up", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file.id(), "group/x", file.id(), "alias", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", file.id(), "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("missing.h5", "/x", file.id(), "external", H5P_DEFAULT, H5P_DEFAULT);
    file.close();
  }
  EXPECT_EQ(hdf5::File::open(path).datasets(), (std::vector<std::string>{"alias", "group/x"}));
  EXPECT_EQ(read_all(*open_source(path + "?x=alias")).x, (std::vector<float>{1, 2}));
}

TEST(Hdf5Source, WhatIsRefused) {
  const Folder folder;
  const std::string path = folder.path("d.h5");
  const auto error_with = [&](auto&& write) {
    hdf5::File file = hdf5::File::create(path);
    write(file);
    file.close();
    return error_of("hdf5:" + path);
  };
  const float number = 1;
  EXPECT_TRUE(has(
      error_with([&](hdf5::File& f) { f.write("x", Shape{}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &number); }),
      "no dimension"));
  EXPECT_TRUE(has(error_with([&](hdf5::File& f) {
                    f.write("x", Shape{0, 4}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &number);
                  }),
                  "no samples"));
  EXPECT_TRUE(has(error_with([&](hdf5::File& f) { f.write("x", Shape{4}, H5T_C_S1, H5T_C_S1, "abcd"); }),
                  "no numbers"));
  EXPECT_TRUE(has(error_with([&](hdf5::File& f) { f.make_group("x"); }), "cannot tell which array is x"));
  EXPECT_TRUE(has(error_with([&](hdf5::File& f) {
                    f.write("x", Shape{1, 1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &number);
                    const float two[] = {1, 2};
                    f.write("y", Shape{2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, two);
                  }),
                  "x has 1 samples and y has 2"));
  EXPECT_TRUE(has(error_of("hdf5:" + folder.path("missing.h5")), "No such file"));
  EXPECT_TRUE(
      has(error_of("hdf5:" + folder.write("t.h5", "\x89HDF\r\n\x1a\n truncated")), "not a whole HDF5 file"));
}

}  // namespace
