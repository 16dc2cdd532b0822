// Weights of files go into the right arrays, or the file is refused: files written by hand, array by array, so
// that each holds its own number. What real Keras writes is tested by tests/golden/test_keras_files.py.
#include <numeric>

#include "lib/hdf5/hdf5_file.h"
#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

// x → block(d1 frozen, norm, d2) → head; every array of a layer has 4 or 16 elements.
json nested_architecture() {
  json d1 = dense_config("d1", {"in"});
  d1["config"]["trainable"] = false;
  json norm = {{"class_name", "BatchNormalization"}, {"name", "norm"}, {"config", {{"name", "norm"}}}};
  norm["inbound_nodes"] = json::parse(R"([[["d1", 0, 0, {}]]])");
  json block = functional("block", {input_config("in", {nullptr, 4}), d1, norm, dense_config("d2", {"norm"})},
                          {{"in", 0, 0}}, {{"d2", 0, 0}});
  block["name"] = "block";
  block["inbound_nodes"] = json::parse(R"([[["x", 0, 0, {}]]])");
  json head = dense_config("head", {});
  head["inbound_nodes"] = json::parse(R"([[["block", 1, 0, {}]]])");
  return functional("m", {input_config("x", {nullptr, 4}), block, head}, {{"x", 0, 0}}, {{"head", 0, 0}});
}

// Writes arrays filled with 0, 1, 2, …, in the order of the calls, names as Keras 2 writes them.
class LegacyFile {
 public:
  explicit LegacyFile(const std::string& name) : path_(temporary(name)), file_(hdf5::File::create(path_)) {}
  void group(const std::string& group, const std::vector<std::pair<std::string, Shape>>& arrays,
             hid_t type = H5T_IEEE_F32LE) {
    file_.make_group(group);
    Names names;
    for (const auto& [name, shape] : arrays) {
      const std::vector<float> values(static_cast<std::size_t>(shape.elements()), next_++);
      file_.write(group + "/" + name, shape, type, H5T_NATIVE_FLOAT, values.data());
      names.push_back(name);
    }
    file_.write_text_list_attribute(group, "weight_names", names);
  }
  std::string close(const Names& layer_names) {
    file_.write_text_list_attribute("", "layer_names", layer_names);
    file_.close();
    return path_;
  }

 private:
  std::string path_;
  hdf5::File file_;
  float next_ = 0;
};

const Shape kSquare{4, 4}, kRow{4};
const std::vector<std::pair<std::string, Shape>> kBlock = {
    {"norm/gamma:0", kRow},       {"norm/beta:0", kRow},           {"d2/kernel:0", kSquare},
    {"d2/bias:0", kRow},          {"d1/kernel:0", kSquare},        {"d1/bias:0", kRow},
    {"norm/moving_mean:0", kRow}, {"norm/moving_variance:0", kRow}};
const std::vector<std::pair<std::string, Shape>> kHead = {{"head/kernel:0", kSquare}, {"head/bias:0", kRow}};

std::map<std::string, float> first_values(const Model& model) {
  std::map<std::string, float> values;
  for (const Weight& weight : model.weights) values[weight.name] = weight.value.at(0);
  return values;
}

TEST(LegacyWeights, ANestedGroupHoldsWhatTrainsFirst) {
  Model model = model_from_json(nested_architecture(), "m", 0);
  LegacyFile file("nested.h5");
  file.group("block", kBlock, H5T_IEEE_F64BE);
  file.group("x", {});
  file.group("head", kHead);
  load_weights(model, file.close({"x", "block", "head"}));
  const std::map<std::string, float> expected = {{"block_norm/gamma", 0.f},
                                                 {"block_norm/beta", 1.f},
                                                 {"block_d2/kernel", 2.f},
                                                 {"block_d2/bias", 3.f},
                                                 {"block_d1/kernel", 4.f},
                                                 {"block_d1/bias", 5.f},
                                                 {"block_norm/moving_mean", 6.f},
                                                 {"block_norm/moving_variance", 7.f},
                                                 {"head/kernel", 8.f},
                                                 {"head/bias", 9.f}};
  EXPECT_EQ(first_values(model), expected);
}

TEST(LegacyWeights, NamesInAnotherOrderAreRefused) {
  Model model = model_from_json(nested_architecture(), "m", 0);
  LegacyFile within("within.h5");
  std::vector<std::pair<std::string, Shape>> swapped = kBlock;
  std::swap(swapped[2], swapped[4]);
  within.group("block", swapped);
  within.group("head", kHead);
  EXPECT_SAYS(user_error([&] {
                load_weights(model, within.close({"block", "head"}));
              }),
              "weights of d1/kernel where the model counts d2/kernel");

  const json chain =
      sequential({input_config("x", {nullptr, 4}), dense_config("a", {}), dense_config("b", {})});
  Model pair = model_from_json(chain, "m", 0);
  LegacyFile layers("layers.h5");
  layers.group("a", {{"a/kernel:0", kSquare}, {"a/bias:0", kRow}});
  layers.group("b", {{"b/kernel:0", kSquare}, {"b/bias:0", kRow}});
  EXPECT_SAYS(user_error([&] {
                load_weights(pair, layers.close({"b", "a"}));
              }),
              "weights of b where the model counts a");
}

// Keras numbers names on within a session: weights of dense_1, dense_2 belong to a model of dense, dense_1.
TEST(LegacyWeights, OtherNamesLoadByOrder) {
  Model model = model_from_json(
      sequential({input_config("x", {nullptr, 4}), dense_config("dense", {}), dense_config("dense_1", {})}),
      "m", 0);
  LegacyFile file("renamed.h5");
  file.group("dense_1", {{"dense_1/kernel:0", kSquare}, {"dense_1/bias:0", kRow}});
  file.group("dense_2", {{"dense_2/kernel:0", kSquare}, {"dense_2/bias:0", kRow}});
  load_weights(model, file.close({"dense_1", "dense_2"}));
  EXPECT_EQ(first_values(model)["dense/kernel"], 0.f);
  EXPECT_EQ(first_values(model)["dense_1/kernel"], 2.f);
}

TEST(LegacyWeights, WhatDoesNotFitIsRefused) {
  const json chain = sequential({input_config("x", {nullptr, 4}), dense_config("a", {})});
  Model model = model_from_json(chain, "m", 0);
  const auto error_of = [&](const char* name, const std::vector<std::pair<std::string, Shape>>& arrays,
                            const Names& layers) {
    LegacyFile file(name);
    file.group("a", arrays);
    return user_error([&] { load_weights(model, file.close(layers)); });
  };
  EXPECT_SAYS(error_of("shape.h5", {{"k", Shape{4, 5}}, {"b", Shape{5}}}, {"a"}),
              "has shape (4, 5), the model's (4, 4)");
  EXPECT_SAYS(error_of("count.h5", {{"k", kSquare}}, {"a"}), "1 arrays, layer a has 2");
  EXPECT_SAYS(error_of("absent.h5", {{"k", kSquare}, {"b", kRow}}, {"a", "other"}), "no such group");
  EXPECT_SAYS(error_of("none.h5", {}, {"a"}), "no weights");
  LegacyFile more("more.h5");
  more.group("a", {{"k", kSquare}, {"b", kRow}});
  more.group("c", {{"k", kSquare}});
  EXPECT_SAYS(user_error([&] { load_weights(model, more.close({"a", "c"})); }), "weights of 2 layers");
  LegacyFile top("top.h5");
  top.group("a", {{"k", kSquare}, {"b", kRow}});
  top.group("top_level_model_weights", {{"own", kRow}});
  EXPECT_SAYS(user_error([&] { load_weights(model, top.close({"a"})); }), "the model itself has weights");
}

// .weights.h5: numbers of vars are numbers, classes are counted anew in each model.
void write_vars(hdf5::File& file, const std::string& group, const std::vector<Shape>& shapes, float first) {
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const std::vector<float> values(static_cast<std::size_t>(shapes[i].elements()),
                                    first + static_cast<float>(i));
    file.write(group + "/vars/" + std::to_string(i), shapes[i], H5T_IEEE_F32LE, H5T_NATIVE_FLOAT,
               values.data());
  }
}

TEST(VarsWeights, ByClassAndNumber) {
  for (const std::string container : {"layers", "_layer_checkpoint_dependencies"}) {
    const std::string path = temporary("vars.weights.h5");
    hdf5::File file = hdf5::File::create(path);
    const std::string inner = container + "/functional/" + container;
    // The older form counts a layer with weights twice, and only its first number has a group.
    const std::string second = container == "layers" ? "dense_1" : "dense_2";
    write_vars(file, inner + "/dense", {kSquare, kRow}, 0);
    write_vars(file, inner + "/" + second, {kSquare, kRow}, 10);
    write_vars(file, inner + "/batch_normalization", {kRow, kRow, kRow, kRow}, 20);
    write_vars(file, container + "/dense", {kSquare, kRow}, 30);
    file.close();
    Model model = model_from_json(nested_architecture(), "m", 0);
    load_weights(model, path);
    const std::map<std::string, float> expected = {{"block_d1/kernel", 0.f},
                                                   {"block_d1/bias", 1.f},
                                                   {"block_d2/kernel", 10.f},
                                                   {"block_d2/bias", 11.f},
                                                   {"block_norm/gamma", 20.f},
                                                   {"block_norm/beta", 21.f},
                                                   {"block_norm/moving_mean", 22.f},
                                                   {"block_norm/moving_variance", 23.f},
                                                   {"head/kernel", 30.f},
                                                   {"head/bias", 31.f}};
    EXPECT_EQ(first_values(model), expected) << container;
  }
}

TEST(VarsWeights, NamesInAnotherOrderAndMissingGroupsAreRefused) {
  const json chain =
      sequential({input_config("x", {nullptr, 4}), dense_config("a", {}), dense_config("b", {})});
  Model model = model_from_json(chain, "m", 0);
  const std::string path = temporary("swapped.weights.h5");
  hdf5::File file = hdf5::File::create(path);
  write_vars(file, "layers/dense", {kSquare, kRow}, 0);
  write_vars(file, "layers/dense_1", {kSquare, kRow}, 10);
  file.write_text_attribute("layers/dense/vars", "name", "b");
  file.write_text_attribute("layers/dense_1/vars", "name", "a");
  file.close();
  EXPECT_SAYS(user_error([&] { load_weights(model, path); }), "weights of b where the model counts a");

  hdf5::File one = hdf5::File::create(path);
  write_vars(one, "layers/dense", {kSquare, kRow}, 0);
  one.close();
  EXPECT_SAYS(user_error([&] { load_weights(model, path); }), "no weights of layer b");
}

TEST(VarsWeights, Bfloat16IsTwoOpaqueBytes) {
  const std::string path = temporary("bfloat16.weights.h5");
  hdf5::File file = hdf5::File::create(path);
  const hdf5::TypeHandle opaque(H5Tcreate(H5T_OPAQUE, 2));
  const std::vector<std::uint16_t> kernel(16, 0x3fc0), bias(4, 0xc000);  // 1.5, −2
  file.write("layers/dense/vars/0", kSquare, opaque.get(), opaque.get(), kernel.data());
  file.write("layers/dense/vars/1", kRow, opaque.get(), opaque.get(), bias.data());
  file.close();
  Model model = model_from_json(sequential({input_config("x", {nullptr, 4}), dense_config("a", {})}), "m", 0);
  load_weights(model, path);
  EXPECT_EQ(model.weights[0].value, std::vector<float>(16, 1.5f));
  EXPECT_EQ(model.weights[1].value, std::vector<float>(4, -2.0f));
}

// mean, variance, count are weights in the file and numbers of the config here; the written .h5 keeps them.
TEST(VarsWeights, NormalizationTakesItsStatistics) {
  const json normalization = {{"class_name", "Normalization"}, {"config", {{"name", "n"}, {"axis", -1}}}};
  const json chain = sequential({input_config("x", {nullptr, 4}), normalization, dense_config("a", {})});
  const std::string path = temporary("adapted.weights.h5");
  hdf5::File file = hdf5::File::create(path);
  write_vars(file, "layers/normalization", {kRow, kRow}, 3);
  const std::int64_t count = 0;
  file.write("layers/normalization/vars/2", Shape{}, H5T_STD_I64LE, H5T_NATIVE_INT64, &count);
  write_vars(file, "layers/dense", {kSquare, kRow}, 10);
  file.close();
  Model model = model_from_json(chain, "m", 0);
  load_weights(model, path);
  EXPECT_EQ(model.weights.size(), 2u);
  const std::string written = temporary("adapted.h5");
  save_model_h5(model, written);
  const Model again = load_model(written, 0);
  EXPECT_EQ(again.layers[1]->config()["mean"], json(std::vector<double>(4, 3.0)));
  EXPECT_EQ(again.layers[1]->config()["variance"], json(std::vector<double>(4, 4.0)));
  Model third = model_from_json(chain, "m", 0);
  load_weights(third, written);
  EXPECT_EQ(third.layers[1]->config()["mean"], json(std::vector<double>(4, 3.0)));
}

// A nested model takes weights of the flattened .h5 that was written of it.
TEST(Weights, TheFlattenedFileFitsTheNestedModel) {
  const Model trained = model_from_json(nested_architecture(), "m", 1);
  const std::string path = temporary("flattened.h5");
  save_model_h5(trained, path);
  Model model = model_from_json(nested_architecture(), "m", 2);
  ASSERT_NE(weights_hash(model), weights_hash(trained));
  load_weights(model, path);
  EXPECT_EQ(weights_hash(model), weights_hash(trained));
  Model other = model_from_json(sequential({input_config("x", {nullptr, 4}), dense_config("a", {})}), "m", 0);
  EXPECT_SAYS(user_error([&] { load_weights(other, path); }), "10 weights, the model has 2");
}

}  // namespace
}  // namespace stoker::keras
