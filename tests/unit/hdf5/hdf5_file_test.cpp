#include "lib/hdf5/hdf5_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "lib/base/error.h"
#include "lib/base/files.h"

namespace stoker::hdf5 {
namespace {

std::string temporary(const std::string& name) { return testing::TempDir() + "/stoker-hdf5-" + name; }

std::string sample_file() {
  const std::string path = temporary("sample.h5");
  File file = File::create(path);
  std::vector<float> values(60);
  std::iota(values.begin(), values.end(), 0.0f);
  file.write("a/b/x", Shape{10, 3, 2}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data());
  file.write_in_pieces("a/big_endian", Shape{10, 6}, H5T_IEEE_F64BE, H5T_NATIVE_FLOAT, values.data(), 4, 50);
  file.write_text_attribute("a", "config", "{\"größe\": 1}");
  file.write_text_list_attribute("a", "none", {});
  file.write_integer_attribute("", "version", 7);
  file.close();
  return path;
}

TEST(Hdf5File, ReadsWhatItWrote) {
  const File file = File::open(sample_file());
  EXPECT_EQ(file.datasets(), (std::vector<std::string>{"a/b/x", "a/big_endian"}));
  const Dataset x = file.dataset("a/b/x");
  EXPECT_EQ(x.info().shape, (Shape{10, 3, 2}));
  EXPECT_EQ(x.info().kind, Kind::floating);
  float rows[12] = {};
  const std::int64_t wanted[] = {2, 7};
  x.read_rows(H5T_NATIVE_FLOAT, wanted, rows);
  EXPECT_EQ(rows[0], 12.0f);
  EXPECT_EQ(rows[6], 42.0f);
  EXPECT_EQ(file.dataset("a/big_endian").read_floats()[59], 59.0f);
  EXPECT_EQ(file.text_attribute("a", "config"), "{\"größe\": 1}");
  EXPECT_EQ(file.text_list_attribute("a", "none"), std::vector<std::string>{});
  EXPECT_EQ(file.text_list_attribute("a", "absent"), std::nullopt);
  EXPECT_EQ(file.integer_attribute("", "version"), 7);
  EXPECT_FALSE(file.exists("a/b/x/y"));
}

TEST(Hdf5File, ListsBeyondTheHeaderLimitAreSplit) {
  const std::string path = temporary("long.h5");
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("a_layer_with_a_long_name/number_" + std::to_string(i));
  File file = File::create(path);
  file.write_text_list_attribute("", "layer_names", names);
  file.close();
  const File again = File::open(path);
  EXPECT_FALSE(again.has_attribute("", "layer_names"));
  EXPECT_TRUE(again.has_attribute("", "layer_names1"));
  EXPECT_EQ(again.text_list_attribute("", "layer_names"), names);
}

TEST(Hdf5File, FromMemoryEqualsFromDisk) {
  const std::string path = sample_file();
  const File file = File::from_memory("archive.keras: model.weights.h5", read_file(path));
  EXPECT_EQ(file.dataset("a/b/x").read_floats()[30], 30.0f);
  EXPECT_THROW(File::from_memory("x", "no file"), UserError);
}

TEST(Hdf5File, DamageIsAUserError) {
  const std::string path = sample_file();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_THROW(File::open(path), UserError);
  EXPECT_THROW(File::open(temporary("absent.h5")), UserError);
  EXPECT_THROW(File::open(sample_file()).dataset("a/none"), UserError);
}

}  // namespace
}  // namespace stoker::hdf5
