// Kinds of files, found from the content; what is said of those that are damaged or of another kind.
#include "lib/keras/model_file.h"

#include <zip.h>

#include <filesystem>
#include <fstream>

#include "lib/base/files.h"
#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;

std::string write(const std::string& name, const std::string& content) {
  const std::string path = temporary(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string write_zip(const std::string& name, const std::map<std::string, std::string>& members) {
  const std::string path = temporary(name);
  std::filesystem::remove(path);
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
  for (const auto& [member, content] : members)
    zip_file_add(archive, member.c_str(), zip_source_buffer(archive, content.data(), content.size(), 0), 0);
  EXPECT_EQ(zip_close(archive), 0);
  return path;
}

Model small_model() {
  return model_from_json(sequential({input_config("x", {nullptr, 4}), dense_config("d", {}, 3)}), "small", 1);
}

std::string saved(const std::string& name) {
  const std::string path = temporary(name);
  save_model_h5(small_model(), path);
  return path;
}

std::string load_error(const std::string& path) {
  return user_error([&] { load_model(path, 0); });
}

TEST(ModelFile, JsonErrorsSayWhere) {
  EXPECT_SAYS(load_error(write("bad.json", "{\"a\":1,\n \"b\":[1,2,}")), "line 2, column 11");
  EXPECT_SAYS(load_error(write("cut.json", "{\"class_name\": \"Sequ")), "not valid JSON");
  EXPECT_SAYS(load_error(write("empty.json", "")), "line 1, column 1");
  EXPECT_SAYS(load_error(write("deep.json", std::string(100000, '['))), "nested too deeply");
  EXPECT_SAYS(load_error(write("list.json", "[1]")), "list.json");
}

TEST(ModelFile, MissingAndForeignFiles) {
  EXPECT_SAYS(load_error(temporary("none.h5")), "no such file");
  EXPECT_SAYS(load_error(testing::TempDir()), "a folder");
  EXPECT_SAYS(load_error(write("text.keras", "no zip")), "not a zip archive");
  EXPECT_SAYS(load_error(write("text.h5", "no hdf5")), "not an HDF5 file");
  const std::string data = temporary("data.h5");
  hdf5::File file = hdf5::File::create(data);
  const float one = 1;
  file.write("x", Shape{1}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, &one);
  file.close();
  EXPECT_SAYS(load_error(data), "not one of Keras");
}

TEST(ModelFile, ATruncatedH5) {
  const std::string whole = read_file(saved("whole.h5"));
  for (const std::size_t size : {whole.size() / 4, whole.size() / 2, whole.size() - 1})
    EXPECT_SAYS(load_error(write("truncated.h5", whole.substr(0, size))), "truncated");
}

// What Keras 3 writes in a .keras file, its weights stored or deflated.
std::map<std::string, std::string> keras_members() {
  const Model model = small_model();
  const std::string weights = temporary("members.weights.h5");
  hdf5::File file = hdf5::File::create(weights);
  file.write("layers/dense/vars/0", Shape{4, 3}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT,
             model.weights[0].value.data());
  file.write("layers/dense/vars/1", Shape{3}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT,
             model.weights[1].value.data());
  file.close();
  json config = model.to_json();
  config.erase("keras_version");
  config["compile_config"] = {{"loss", "mse"}};
  return {{"metadata.json", R"({"keras_version": "3.15.1"})"},
          {"config.json", config.dump()},
          {"model.weights.h5", read_file(weights)}};
}

TEST(ModelFile, KerasArchive) {
  const Model model = load_model(write_zip("good.keras", keras_members()), 9);
  EXPECT_EQ(weights_hash(model), weights_hash(small_model()));
  EXPECT_EQ((*model.training_config)["loss"], "mse");
}

TEST(ModelFile, AMissingMemberIsNamed) {
  for (const char* member : {"metadata.json", "config.json", "model.weights.h5"}) {
    std::map<std::string, std::string> members = keras_members();
    members.erase(member);
    EXPECT_SAYS(load_error(write_zip("lacks.keras", members)), std::string("has no ") + member);
  }
}

TEST(ModelFile, ADamagedArchive) {
  const std::string whole = read_file(write_zip("whole.keras", keras_members()));
  EXPECT_SAYS(load_error(write("cut.keras", whole.substr(0, whole.size() / 2))), "cannot read the archive");
  std::map<std::string, std::string> members = keras_members();
  members["model.weights.h5"].resize(600);
  EXPECT_SAYS(load_error(write_zip("cut-member.keras", members)), "model.weights.h5");
}

TEST(ModelFile, WeightsOnlyAreNoModel) {
  const std::string weights = write("w.weights.h5", keras_members()["model.weights.h5"]);
  EXPECT_SAYS(load_error(weights), "weights only");
  Model model = model_from_json(small_model().to_json(), "small", 5);
  load_weights(model, weights);
  EXPECT_EQ(weights_hash(model), weights_hash(small_model()));
  EXPECT_SAYS(user_error([&] { load_weights(model, write("a.json", small_model().to_json().dump())); }),
              "no weights");
}

TEST(ModelFile, TheKerasVersionIsRead) {
  EXPECT_EQ(open_model_file(saved("version.h5")).keras_major, 2);
  EXPECT_EQ(open_model_file(write_zip("version.keras", keras_members())).keras_major, 3);
}

}  // namespace
}  // namespace stoker::keras
