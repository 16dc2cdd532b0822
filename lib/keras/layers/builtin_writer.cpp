#include "lib/keras/layers/builtin_writer.h"

#include <memory>
#include <utility>

#include "lib/keras/layer.h"

namespace stoker::keras {

using nlohmann::json;

BuiltinWriter::Tensor BuiltinWriter::input(const Shape& shape) {
  json batch_shape = json::array({nullptr});
  for (const std::int64_t size : shape.dims()) batch_shape.push_back(size);
  input_rank_ = shape.rank();
  return add("InputLayer", shape.rank() == 1 ? "columns" : "image", {{"batch_input_shape", batch_shape}}, {});
}

BuiltinWriter::Tensor BuiltinWriter::add(const std::string& class_name, const std::string& name, json config,
                                         const std::vector<Tensor>& inputs) {
  config["name"] = name;
  const json description = {{"class_name", class_name}, {"config", std::move(config)}};
  const std::unique_ptr<Layer> layer = make_layer(description, {"stoker model " + name_, 3});
  std::vector<Shape> shapes;
  json node = json::array();
  for (const Tensor& tensor : inputs) {
    shapes.push_back(tensor.shape);
    node.push_back({tensor.layer, 0, 0, json::object()});
  }
  const bool follows =
      layers_.empty() ? inputs.empty() : inputs.size() == 1 && inputs[0].layer == layers_.back()["name"];
  chain_ = chain_ && follows;
  const Shape output = layer->build(shapes);
  layers_.push_back({{"class_name", layer->class_name},
                     {"config", layer->config()},
                     {"name", name},
                     {"inbound_nodes", inputs.empty() ? json::array() : json::array({node})}});
  return {name, output};
}

json BuiltinWriter::finish(const Tensor& output) const {
  json config = {{"name", name_}, {"layers", layers_}};
  if (chain_) {
    for (json& layer : config["layers"]) {
      layer.erase("name");
      layer.erase("inbound_nodes");
    }
  } else {
    config["trainable"] = true;
    config["input_layers"] = json::array({{layers_[0]["name"], 0, 0}});
    config["output_layers"] = json::array({{output.layer, 0, 0}});
  }
  return {{"module", "keras"},
          {"class_name", chain_ ? "Sequential" : "Model"},
          {"config", config},
          {"registered_name", nullptr}};
}

}  // namespace stoker::keras
