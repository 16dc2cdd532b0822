// The architecture of a Keras file as it stands there, nested models included: what weight files are laid out
// by. Read from the JSON of Sequential, Functional and Model in the Keras 2 and Keras 3 dialects; flattened
// into a Model by flatten.h.
//
// Dialects, from keras/src/models/functional.py, keras/src/models/sequential.py and their tf_keras twins:
//   a call       Keras 2 [["conv",0,0,{kwargs}], …]; Keras 3 {"args":[tensor or [tensor, …]],"kwargs":{…}}
//   the ends     "input_layers", "output_layers": ["x",0,0], [["x",0,0]] or {"name": ["x",0,0]}
//   node number  of a nested model's calls: from 0 in Keras 3's calls; from 1 in Keras 2, and in the ends of
//                Keras 3 for a functional one, because its construction counts as node 0
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/keras/layer.h"
#include "lib/tensor/shape.h"

namespace stoker::keras {

struct ModelTree;

// The output of one call of a layer.
struct TreeTensor {
  std::size_t layer = 0;  // index into ModelTree::layers
  std::size_t call = 0;   // index into TreeLayer::calls
};

struct TreeCall {
  std::vector<TreeTensor> inputs;  // none for an InputLayer
  bool inference = false;          // training=False that Keras 2 holds to
};

struct TreeLayer {
  std::string name;
  std::string class_name;            // as the file spells it
  nlohmann::json json;               // {"class_name", "config", …}; of a nested model: empty
  std::unique_ptr<ModelTree> model;  // a nested model
  bool is_input = false;
  std::vector<TreeCall> calls;

  // Set by flatten(), for a layer that is no model.
  std::size_t flat = 0;   // index into Model::layers (a nested model's input: that of the whole)
  bool trainable = true;  // the layer's own, whatever the models around it are
};

struct ModelTree {
  std::string name;
  std::string class_name;  // "Sequential" or "Functional"
  bool trainable = true;
  std::vector<TreeLayer> layers;  // those the output needs, in Keras' order
  std::vector<TreeTensor> order;  // their calls, topologically; the input's first
  TreeTensor output;
  std::vector<std::int64_t> input_dims;  // without the batch axis; −1 where open
  bool input_known = false;              // false: nothing in the file says the input's rank
  bool sequential() const { return class_name == "Sequential"; }
};

// Reads {"class_name", "config"} of a whole model. Throws UserError, naming file, layer and key, for what is
// damaged or not supported (several inputs or outputs, subclassed models, tensors as keyword arguments, …).
std::unique_ptr<ModelTree> parse_model_tree(const nlohmann::json& model, const ParseContext& context);

// 2 or 3: the Keras whose dialect the architecture is in, from "keras_version" where it is there.
int keras_major_of(const nlohmann::json& model);

}  // namespace stoker::keras
