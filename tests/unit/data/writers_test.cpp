// Files that NumPy, h5py and Python's csv module wrote (fixtures/make_fixtures.py).
#include <gtest/gtest.h>

#include <cstdlib>

#include "lib/data/source.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using namespace stoker::data::test;

std::string fixture(const std::string& name) {
  const char* source_folder = std::getenv("srcdir");  // set by make check
  return std::string(source_folder != nullptr ? source_folder : ".") + "/tests/unit/data/fixtures/" + name;
}

void expect_samples(const std::string& spec, std::int64_t modulus) {
  const Content content = read_all(*open_source(spec));
  ASSERT_EQ(content.x.size(), 72u) << spec;
  for (std::size_t i = 0; i < 72; ++i)
    EXPECT_EQ(content.x[i], static_cast<float>(10 * (i / 6) + i % 6)) << spec;
  ASSERT_EQ(content.labels.size(), 12u) << spec;
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(content.labels[i], static_cast<std::int64_t>(i) % modulus) << spec;
}

TEST(Writers, NumPy) {
  expect_samples(fixture("stored.npz"), 5);
  expect_samples(fixture("deflated.npz"), 5);
  expect_samples("npy:" + fixture("fortran_half.npy") + "," + fixture("odd.npy"), 2);
}

TEST(Writers, H5py) {
  expect_samples(fixture("h5py.h5"), 5);
  for (const char* x : {"half", "big"}) {
    expect_samples("hdf5:" + fixture("h5py.h5") + "?x=" + x + "&y=y", 5);
    expect_samples("hdf5:" + fixture("h5py.h5") + "?x=" + x + "&y=odd", 2);
  }
}

TEST(Writers, PythonCsv) {
  const auto source = open_source(fixture("table.csv"));
  EXPECT_EQ(source->description().class_names, (std::vector<std::string>{"a, b", "c\nd", "e\"f"}));
  const Content content = read_all(*source);
  ASSERT_EQ(content.labels.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(content.x[2 * i], static_cast<float>(i) + 0.5f);
    EXPECT_EQ(content.x[2 * i + 1], -static_cast<float>(i));
    EXPECT_EQ(content.labels[i], static_cast<std::int64_t>(i % 3));
  }
}

// The digits that come with Stoker.
TEST(Writers, Digits) {
  const char* source_folder = std::getenv("srcdir");
  const std::string folder =
      std::string(source_folder != nullptr ? source_folder : ".") + "/examples/digits/";
  const auto train = open_source(folder + "digits-train.h5"),
             held_out = open_source(folder + "digits-test.h5");
  EXPECT_EQ(train->description().samples, 1437);
  EXPECT_EQ(held_out->description().samples, 360);
  EXPECT_EQ(train->description().x_shape, (stoker::Shape{8, 8, 1}));
  EXPECT_EQ(check_labels(*train, 10), 10);
  EXPECT_EQ(check_labels(*held_out, 10), 10);
}

}  // namespace
