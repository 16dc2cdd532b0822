#include "trainer/prediction_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/hdf5/hdf5_file.h"
#include "trainer/output_file.h"

namespace stoker::trainer {
namespace {

std::string write(const std::string& extension, const Shape& row) {
  const std::string path = testing::TempDir() + "/stoker-predictions" + extension;
  std::filesystem::remove(path);
  std::vector<float> values(static_cast<std::size_t>(5 * row.elements()));
  std::iota(values.begin(), values.end(), 0.5f);
  const auto writer = make_prediction_writer(path, 5, row);
  writer->append(values.data(), 3);
  EXPECT_FALSE(path_exists(path)) << "a half-written file has the final name";
  writer->append(values.data() + 3 * row.elements(), 2);
  writer->finish();
  return path;
}

TEST(PredictionWriter, Hdf5) {
  const hdf5::File file = hdf5::File::open(write(".h5", Shape{2, 3}));
  const hdf5::Dataset rows = file.dataset("predictions");
  EXPECT_EQ(rows.info().shape, (Shape{5, 2, 3}));
  EXPECT_EQ(rows.read_floats()[29], 29.5f);
}

TEST(PredictionWriter, Npy) {
  const std::string bytes = read_file(write(".npy", Shape{2}));
  EXPECT_EQ(bytes.substr(0, 6), "\x93NUMPY");
  EXPECT_NE(bytes.find("'shape': (5, 2)"), std::string::npos);
  EXPECT_EQ((bytes.size() - 5 * 2 * 4) % 64, 0u);
  float last = 0;
  std::memcpy(&last, bytes.data() + bytes.size() - 4, 4);
  EXPECT_EQ(last, 9.5f);
}

TEST(PredictionWriter, Csv) {
  EXPECT_EQ(read_file(write(".csv", Shape{2})), "0.5,1.5\n2.5,3.5\n4.5,5.5\n6.5,7.5\n8.5,9.5\n");
}

TEST(PredictionWriter, RefusesWhatItCannotWrite) {
  EXPECT_THROW(make_prediction_writer(testing::TempDir() + "/x.csv", 1, Shape{2, 2}), UserError);
}

TEST(OutputFile, ExistingFolderKnownEndingNoInput) {
  const std::string folder = testing::TempDir();
  EXPECT_NO_THROW(check_output_file(folder + "/x.npy", {".h5", ".npy"}));
  EXPECT_THROW(check_output_file(folder + "/x.txt", {".h5", ".npy"}), UserError);
  EXPECT_THROW(check_output_file("/nonexistent/x.npy", {".npy"}), UserError);
  EXPECT_THROW(check_output_file(folder, {""}), UserError);
  const std::string input = folder + "/in.npy";
  write_file_atomically(input, "x");
  EXPECT_NO_THROW(refuse_to_overwrite(folder + "/new.npy", {input, "", "npy:" + input}));
  for (const std::string& named : {input, "npy:" + input + "?scale=2", "npy:" + folder + "/y.npy," + input})
    EXPECT_THROW(refuse_to_overwrite(folder + "/./in.npy", {named}), UserError) << named;
}

}  // namespace
}  // namespace stoker::trainer
