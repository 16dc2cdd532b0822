// A Keras model: layers and their calls, flattened, one input and one output for now.
//
// Flattened: nested models are dissolved into their layers, so that layers, names and order are those of the
// .h5 that save_model_h5() writes, whatever file the model came from: saving and loading change neither
// weight names nor their order, hence neither weights_hash() nor random numbers. A nested layer's name has
// its models' names before it ("inner_d1"); characters that Keras 3 refuses in a name ('/') become '_'.
//
// Not thread-safe while being changed.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/graph.h"
#include "lib/keras/layer.h"

namespace stoker::keras {

// One application of a layer: a node of the model's graph.
struct Call {
  std::size_t layer = 0;            // index into Model::layers
  std::vector<std::size_t> inputs;  // indices into Model::calls, each smaller than this call's
  Shape shape;                      // of the output, without the batch axis
  bool inference = false;           // called with training=False for good, as Keras 2 files can say: no
                                    // dropout, moving statistics in training too
};

struct Weight {
  std::string name;  // layer's name / its own: "conv2d/kernel", "inner_d1/kernel"
  WeightSpec spec;
  bool trainable = true;     // spec.trainable and its layer's and all models' around it
  std::vector<float> value;  // Keras layout, row-major; always filled
};

// What stoker trained a model with: in the .h5 of save_model_h5() and in checkpoints, never in Keras' own
// files.
struct TrainedWith {
  std::vector<std::string> class_names;  // of text labels, by number; empty for other labels
  std::string loss;                      // as --loss takes it; empty: not known
  std::vector<std::string> metrics;      // as --metrics takes them
};

struct ModelTree;  // the architecture as the file has it, nested (model_tree.h)

class Model {
 public:
  std::string name;
  std::string origin;                          // file it came from, for messages
  bool sequential = false;                     // a Sequential in Keras' eyes: a chain, each layer called once
  std::vector<std::unique_ptr<Layer>> layers;  // in Keras' order (model.layers), InputLayer included
  std::vector<std::string> layer_paths;        // name with nesting ("inner/d1"), by layer, for messages
  std::vector<std::vector<std::int64_t>> layer_weights;  // indices into weights, by layer
  std::vector<Call> calls;  // topological order; calls[0] is the input (layer InputLayer)
  std::size_t output_call = 0;
  bool weights_are_drawn = false;  // none came from a file
  std::vector<Weight> weights;     // by layer, in the layer's order: trainable, then non-trainable
  std::optional<nlohmann::json> training_config;  // as the file has it (compile)
  TrainedWith trained_with;
  std::shared_ptr<const ModelTree> tree;  // how weight files of the same architecture are laid out

  const Shape& input_shape() const { return calls[0].shape; }  // without the batch axis
  const Shape& output_shape() const { return calls[output_call].shape; }
  std::int64_t parameter_count(bool trainable_only) const;

  // The architecture as Keras JSON in the dialect common to Keras 2 and 3 (to_json()'s object level).
  nlohmann::json to_json() const;
};

// Reads .json, .h5 (legacy), .keras; the kind is found from the content. Weights the file has are loaded,
// else freshly drawn with `seed`. `data_shape` (of a sample, without the batch axis) completes an input shape
// that the file leaves open (a Sequential that was never built; None axes); it is not compared with one that
// the file states. Throws UserError naming file, layer and option.
Model load_model(const std::string& path, std::uint64_t seed,
                 const std::optional<Shape>& data_shape = std::nullopt);

// The same from an architecture already parsed; weights freshly drawn.
Model model_from_json(const nlohmann::json& json, const std::string& origin, std::uint64_t seed,
                      const std::optional<Shape>& data_shape = std::nullopt);

// --weights FILE: an .h5 (legacy, whole model or save_weights), .keras or *.weights.h5 for this architecture.
// By order, as Keras does; where the names in the file say another order than the model's, a UserError names
// both.
void load_weights(Model& model, const std::string& path);

// One .h5 that Keras 2 and 3 both open; written to a temporary name, synced, renamed.
void save_model_h5(const Model& model, const std::string& path);

// `stoker inspect --hash`: over the weights' names, shapes and bytes in Keras layout.
std::string weights_hash(const Model& model);

// What `stoker inspect --json` prints of a model: parameters, trainable_parameters, inputs and outputs (name,
// shape), layers (name, class, output_shape, parameters, trainable). The batch axis is null.
nlohmann::json inspect_json(const Model& model);

// A built-in architecture (mlp, lenet5, convnet, resnet18, resnet50, mobilenetv2, …) as Keras JSON. Throws
// UserError listing the names. input_shape is H, W, C, or for
// mlp also one number, the columns of a table. None scales its input: train them on numbers of about
// unit size (the data's key scale=1/255 for bytes). Those that keras.applications has are the same, names
// included.
nlohmann::json builtin_model(const std::string& name, std::int64_t classes, const Shape& input_shape);
std::vector<std::string> builtin_model_names();

struct GraphOptions {
  std::int64_t batch = 1;
  bool training = false;                      // dropout on, batch statistics, gradients
  std::optional<graph::LossAttributes> loss;  // with its target
  std::vector<std::pair<std::string, graph::MetricAttributes>> metrics;
  bool bind_output = false;  // write the prediction to StepArguments::output
  Shape target_shape;        // without the batch axis; () for labels
  DType target_dtype = DType::i32;
};
// Expands the model, adds loss and metrics, and for training the gradients; passes have run. Parameter k is
// weights[k].
graph::Graph build_graph(const Model& model, const GraphOptions& options);

}  // namespace stoker::keras
