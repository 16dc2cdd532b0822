// A Keras layer as the engine sees it: its configuration read and checked, its weights, its expansion into
// primitive ops.
//
// A layer class is one entry of the table in layer_table.h: the class names it goes by and a function that
// reads a config (in the Keras 2 or Keras 3 dialect) into a Layer. Every key of the config is either
// honoured, known to be without effect at the value it has, or refused with a UserError naming layer, key and
// file: never silently ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/tensor/shape.h"

namespace stoker::keras {

// How a fresh weight is drawn, by Keras' names ("GlorotUniform"); the config's numbers.
struct Initializer {
  std::string name = "Zeros";
  nlohmann::json config = nlohmann::json::object();
};

struct Regularizer {
  float l1 = 0.0f, l2 = 0.0f;
};

// "MaxNorm" (max_value, axis) or "NonNeg"; empty: none.
struct Constraint {
  std::string name;
  float max_value = 2.0f;
  std::vector<std::int64_t> axis{0};
};

struct WeightSpec {
  std::string name;  // within the layer: "kernel", "bias", "gamma", "moving_mean", …
  Shape shape;
  bool trainable = true;  // by its kind; a frozen layer's weights do not train either
  Initializer initializer;
  Regularizer regularizer;
  Constraint constraint;
};

struct ExpandContext {
  bool training = false;
  std::uint32_t layer = 0;                // index of the layer in the model, for random numbers
  std::uint32_t call = 0;                 // which call of the layer this is
  std::span<const std::int64_t> weights;  // parameter index of each of the layer's weights, in their order
  std::string path;                       // the layer's name with its nesting, for messages
};

class Layer {
 public:
  virtual ~Layer() = default;

  std::string name;        // unique in its model
  std::string class_name;  // as Keras 2 and 3 both know it: "Conv2D"
  bool trainable = true;

  // Shapes are without the batch axis. Creates the weights at the first call; later calls (a shared layer)
  // must have inputs that fit them. Throws UserError when the inputs do not fit the layer.
  virtual Shape build(std::span<const Shape> inputs) = 0;
  const std::vector<WeightSpec>& weights() const { return weights_; }

  // Appends the ops of one call. inputs are fp32 [n, …]. Returns the output.
  virtual graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                                const ExpandContext& context) const = 0;

  // The config in the dialect that Keras 2 and Keras 3 both open (name, trainable and dtype included).
  // Numbers that Keras keeps as weights but that we hold in the config (Normalization) are in it.
  virtual nlohmann::json config() const = 0;

  // Layers whose numbers arrive as weights of the file but live in the config here (Normalization's mean,
  // variance) take them by this; false if the layer has no such thing.
  virtual bool adopt_file_weights(std::span<const std::vector<float>>) { return false; }

  // An activation that no single string says in both dialects (a LeakyReLU object as a Dense's activation,
  // hard_sigmoid) is given up here: the layer becomes linear, and the layers returned, which have no weights,
  // are to be called one after the other on the output of each of its calls. Their names start with this
  // layer's; the caller makes them unique. Empty for all other layers. To be called once, before build.
  virtual std::vector<std::unique_ptr<Layer>> split_activation() { return {}; }

 protected:
  std::vector<WeightSpec> weights_;
};

// What a layer's config cannot say itself.
struct ParseContext {
  std::string file;     // for messages
  int keras_major = 3;  // the Keras that wrote the file, 2 or 3: "hard_sigmoid" differs
};

// Reads {"class_name", "config", …} of a layer that is not itself a model. Throws UserError for a class that
// the table lacks, and for every key and value that is not honoured.
std::unique_ptr<Layer> make_layer(const nlohmann::json& layer, const ParseContext& context);

// Draws a fresh weight (GlorotUniform, HeNormal, Zeros, …): a pure function of (initializer, shape, seed,
// key), so every rank draws the same. `key` is a number of the weight, e.g. its index in the model.
std::vector<float> initialize(const Initializer& initializer, const Shape& shape, std::uint64_t seed,
                              std::uint64_t key);

}  // namespace stoker::keras
