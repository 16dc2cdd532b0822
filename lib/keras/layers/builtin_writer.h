// Writes the Keras JSON of a model layer by layer.
//
// Each layer is made and built as one read from a file is, so shapes are known and checked as it is added,
// and its config is complete and in the dialect common to Keras 2 and 3. The outermost object is {"module":
// "keras", "class_name": "Sequential" or "Model"}, which both take ("Functional" has no module that both
// know).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/tensor/shape.h"

namespace stoker::keras {

class BuiltinWriter {
 public:
  // The output of a layer.
  struct Tensor {
    std::string layer;
    Shape shape;  // without the batch axis
  };

  explicit BuiltinWriter(std::string model_name) : name_(std::move(model_name)) {}

  Tensor input(const Shape& shape);
  int input_rank() const { return input_rank_; }  // of input()'s shape
  // Throws UserError when the inputs do not fit the layer.
  Tensor add(const std::string& class_name, const std::string& name, nlohmann::json config,
             const std::vector<Tensor>& inputs);

  // A model of one input, the first layer, and one output. A Sequential where each layer was called on the
  // one added before it.
  nlohmann::json finish(const Tensor& output) const;

 private:
  std::string name_;
  nlohmann::json layers_ = nlohmann::json::array();  // with name and inbound_nodes
  bool chain_ = true;
  int input_rank_ = 0;
};

}  // namespace stoker::keras
