// Each layer against Keras 3 and Keras 2: fixtures/layers.json holds configs as both write them and what the layers
// computed; the ops are run by lib/graph's reference interpreter. A layer must do the same after its config was
// written in the common dialect and read again.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "lib/base/files.h"
#include "tests/unit/graph/reference_interpreter.h"
#include "tests/unit/keras_layers/layer_testing.h"

namespace stoker::keras {
namespace {

using graph::reference::Tensor;
using nlohmann::json;

constexpr std::int64_t kBatch = 2;

// The same numbers as in fixtures/layer_cases.py.
Tensor numbers(std::int64_t count, std::int64_t seed) {
  Tensor tensor;
  for (std::int64_t i = 0; i < count; ++i) {
    tensor.push_back(static_cast<double>((i * 37 + seed * 101) % 129 - 64) / 64.0);
  }
  return tensor;
}

std::string source_folder() {
  const char* const source = std::getenv("srcdir");
  return source == nullptr ? "." : source;
}

const json& cases() {
  static const json fixture =
      json::parse(read_file(source_folder() + "/tests/unit/keras_layers/fixtures/layers.json"));
  return fixture;
}

// A layer and the layers that were split off it, in a graph of their own.
struct Chain {
  std::vector<std::unique_ptr<Layer>> layers;

  Chain(const json& layer, int keras_major) {
    layers.push_back(make_layer(layer, {"layers.json", keras_major}));
    for (auto& next : layers[0]->split_activation()) layers.push_back(std::move(next));
  }

  // Weights are parameters 0, 1, …; inputs come after them.
  Tensor run(const std::vector<Shape>& shapes, bool training) {
    std::vector<Shape> inputs = shapes;
    Shape output = layers[0]->build(inputs);
    graph::GraphBuilder builder(kBatch);
    graph::reference::Arguments arguments;
    std::vector<std::int64_t> indices;
    for (const WeightSpec& weight : layers[0]->weights()) {
      const auto k = static_cast<std::int64_t>(indices.size());
      indices.push_back(k);
      arguments.parameters.push_back(numbers(weight.shape.elements(), 50 + k));
      if (weight.name != "moving_variance") continue;
      for (double& x : arguments.parameters.back()) x = std::abs(x);
    }
    std::vector<graph::ValueId> values;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Shape batch = shapes[i].with_batch(kBatch);
      values.push_back(builder.parameter(static_cast<std::int64_t>(arguments.parameters.size()), batch, "x"));
      arguments.parameters.push_back(numbers(batch.elements(), static_cast<std::int64_t>(i)));
    }
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (l > 0) output = layers[l]->build(std::vector<Shape>{output});
      const auto weights = l == 0 ? std::span<const std::int64_t>(indices) : std::span<const std::int64_t>();
      values = {layers[l]->expand(builder, values, {training, 0, 0, weights, layers[l]->name})};
    }
    EXPECT_EQ(builder.shape(values[0]), output.with_batch(kBatch)) << "build and expand disagree";
    builder.set_output(values[0], true);
    return graph::reference::run(builder.finish(), arguments).output;
  }
};

void expect_near(const Tensor& got, const json& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double w = wanted[i].get<double>();
    ASSERT_NEAR(got[i], w, 1e-5 * std::max(1.0, std::abs(w))) << what << " element " << i;
  }
}

std::vector<Shape> input_shapes(const json& entry) {
  std::vector<Shape> shapes;
  for (const json& shape : entry["inputs"]) shapes.emplace_back(shape.get<std::vector<std::int64_t>>());
  return shapes;
}

TEST(LayerGolden, ComputesWhatKerasComputes) {
  ASSERT_GT(cases().size(), 100u);
  for (const json& entry : cases()) {
    const std::string what = entry["layer"].dump();
    Chain chain(entry["layer"], entry["keras"].get<int>());
    expect_near(chain.run(input_shapes(entry), false), entry["output"], what);
    if (entry.contains("training_output")) {
      expect_near(chain.run(input_shapes(entry), true), entry["training_output"], what);
    }
    EXPECT_EQ(chain.layers[0]->weights().size(), entry["weights"].size()) << what;
  }
}

TEST(LayerGolden, ComputesTheSameAfterWritingAndReading) {
  for (const json& entry : cases()) {
    Chain chain(entry["layer"], entry["keras"].get<int>());
    for (const auto& layer : chain.layers) expect_round_trip(*layer);
    const json written = {{"class_name", chain.layers[0]->class_name}, {"config", chain.layers[0]->config()}};
    Chain again(written, 3);
    EXPECT_EQ(again.layers.size(), 1u) << written;
    for (std::size_t l = 1; l < chain.layers.size(); ++l) {
      again.layers.push_back(
          make_layer({{"class_name", chain.layers[l]->class_name}, {"config", chain.layers[l]->config()}},
                     {"m.json", 3}));
    }
    expect_near(again.run(input_shapes(entry), false), entry["output"], written.dump());
  }
}

// Whatever stands in a config, the outcome is a layer or a UserError: nothing else is thrown, nothing overflows.
TEST(LayerGolden, DamagedConfigsAreReadOrRefused) {
  const json odd =
      json::parse(R"([null, true, -1, 0, 3, 2.5, 1e300, 9223372036854775807, 2147483647, "", "x", [],
      [1], [0, 0], [1, 2], [[1, 2], [3]], [2147483647, 2147483647], {}, {"class_name": 3}, {"class_name": "L2"},
      {"class_name": "L2", "config": 3}, {"class_name": "Constant", "config": {"value": "x"}},
      {"class_name": "MaxNorm", "config": {"axis": "x"}}, {"class_name": "ReLU"}, {"class_name": "function"}])");
  std::size_t refused = 0;
  std::set<json> seen;  // classes
  for (const json& entry : cases()) {
    if (!seen.insert(entry["layer"]["class_name"]).second) continue;
    for (const auto& [key, original] : entry["layer"]["config"].items()) {
      for (const json& value : odd) {
        json layer = entry["layer"];
        layer["config"][key] = value;
        const std::string message = error_of([&] {
          const auto made = make_layer(layer, {"m.json", 3});
          made->build(input_shapes(entry));
          made->config();
        });
        refused += message.empty() ? 0 : 1;
      }
    }
  }
  EXPECT_GT(refused, 500u);
}

// Asks both Keras, where the tests have them.
TEST(LayerGolden, BothKerasOpenWhatIsWritten) {
  const char* const python = std::getenv("STOKER_PYTHON");
  if (python == nullptr || *python == '\0')
    GTEST_SKIP() << "STOKER_PYTHON is not set: Keras itself is not asked";
  json written = json::array();
  for (const json& entry : cases()) {
    Chain chain(entry["layer"], entry["keras"].get<int>());
    chain.run(input_shapes(entry), false);  // builds the layers
    json layers = json::array();
    for (const auto& layer : chain.layers) {
      layers.push_back({{"class_name", layer->class_name}, {"config", layer->config()}});
    }
    written.push_back({{"layers", layers}, {"inputs", entry["inputs"]}, {"output", entry["output"]}});
  }
  const std::string stem = ::testing::TempDir() + "/keras_layers_" + std::to_string(::getpid());
  std::ofstream(stem + ".json") << written;
  const std::string script = source_folder() + "/tests/unit/keras_layers/fixtures/open_layers.py";
  const std::string command =
      std::string(python) + " '" + script + "' " + stem + ".json >" + stem + ".txt 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(stem + ".txt");
  std::remove((stem + ".json").c_str());
  std::remove((stem + ".txt").c_str());
}

}  // namespace
}  // namespace stoker::keras
