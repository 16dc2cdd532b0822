#include "lib/keras/flatten.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/error.h"
#include "lib/keras/layer_order.h"

namespace stoker::keras {
namespace {

// Letters that Keras 3 ('/') or HDF5 would not take in a layer's name.
std::string plain_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

bool fits(const std::vector<std::int64_t>& declared, const Shape& shape) {
  if (declared.size() != shape.rank()) return false;
  for (std::size_t axis = 0; axis < declared.size(); ++axis)
    if (declared[axis] >= 0 && declared[axis] != shape[axis]) return false;
  return true;
}

std::string dims_text(const std::vector<std::int64_t>& dims) {
  std::string text = "(";
  for (std::size_t axis = 0; axis < dims.size(); ++axis)
    text += (axis > 0 ? ", " : "") + (dims[axis] < 0 ? std::string("None") : std::to_string(dims[axis]));
  return text + ")";
}

Shape input_shape_of(const ModelTree& tree, const std::string& file, const std::optional<Shape>& data_shape) {
  const bool open = !tree.input_known || std::any_of(tree.input_dims.begin(), tree.input_dims.end(),
                                                     [](std::int64_t dim) { return dim < 0; });
  if (!open) return Shape(tree.input_dims);
  if (!data_shape)
    throw UserError(tree.input_known ? "the model leaves its input shape open: " + dims_text(tree.input_dims)
                                     : "the model has no input shape: it was never built",
                    file, "give the model an Input layer with the whole shape and save it again");
  if (tree.input_known && !fits(tree.input_dims, *data_shape))
    throw UserError("the model takes samples of shape " + dims_text(tree.input_dims) + ", the data has " +
                        to_string(*data_shape),
                    file, "use data or a model of the other's shape");
  return *data_shape;
}

class Flattener {
 public:
  Flattener(ModelTree& tree, const ParseContext& context) : tree_(tree), context_(context) {}

  Model flatten(const Shape& input_shape) {
    model_.name = tree_.name;
    model_.origin = context_.file;
    make_layers(tree_, "", "", true, input_shape);
    add_call(tree_.layers[tree_.order[0].layer].flat, {}, false);
    const std::size_t output = expand(tree_, 0, false);
    sort(output);
    name_layers();
    build();
    model_.sequential = tree_.sequential() && is_chain();
    return std::move(model_);
  }

 private:
  struct FlatLayer {
    std::unique_ptr<Layer> layer;
    std::string path, wanted_name;
    std::vector<std::size_t> after;  // activations that became layers: called on its output, in this order
  };

  std::size_t add_layer(std::unique_ptr<Layer> layer, std::string path, std::string wanted_name) {
    layers_.push_back({std::move(layer), std::move(path), std::move(wanted_name), {}});
    return layers_.size() - 1;
  }

  void make_layers(ModelTree& tree, const std::string& path, const std::string& prefix, bool trainable,
                   const std::optional<Shape>& input_shape) {
    trainable = trainable && tree.trainable;
    for (TreeLayer& node : tree.layers) {
      const std::string wanted_name = prefix + plain_name(node.name);
      if (node.model) {
        make_layers(*node.model, path + node.name + "/", wanted_name + "_", trainable, std::nullopt);
        continue;
      }
      if (node.is_input && !input_shape) continue;  // a nested model's: dissolved
      nlohmann::json json = node.is_input ? with_shape(node.json, *input_shape) : node.json;
      json["config"]["name"] = path + node.name;  // for messages
      std::unique_ptr<Layer> layer = make_layer(json, context_);
      layer->name = node.name;
      node.trainable = layer->trainable;
      layer->trainable = layer->trainable && trainable;
      std::vector<std::unique_ptr<Layer>> after = layer->split_activation();
      node.flat = add_layer(std::move(layer), path + node.name, wanted_name);
      for (std::unique_ptr<Layer>& activation : after) {
        std::string name = prefix + plain_name(activation->name), its_path = path + activation->name;
        const std::size_t index = add_layer(std::move(activation), std::move(its_path), std::move(name));
        layers_[node.flat].after.push_back(index);
      }
    }
  }

  static nlohmann::json with_shape(nlohmann::json input, const Shape& shape) {
    nlohmann::json batch_shape = nlohmann::json::array({nullptr});
    for (const std::int64_t dim : shape.dims()) batch_shape.push_back(dim);
    input["config"].erase("batch_shape");
    input["config"]["batch_input_shape"] = batch_shape;
    return input;
  }

  std::size_t add_call(std::size_t layer, std::vector<std::size_t> inputs, bool inference) {
    Call call;
    call.layer = layer;
    call.inputs = std::move(inputs);
    call.inference = inference;
    model_.calls.push_back(std::move(call));
    for (const std::size_t activation : layers_[layer].after)
      add_call(activation, {model_.calls.size() - 1}, inference);
    return model_.calls.size() - 1;
  }

  // Adds the calls of one call of a model whose input is the call `input`; returns that of its output.
  std::size_t expand(ModelTree& tree, std::size_t input, bool inference) {
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> flat;  // (layer, call) → call of the Model
    for (const TreeTensor& tensor : tree.order) {
      TreeLayer& node = tree.layers[tensor.layer];
      const TreeCall& call = node.calls[tensor.call];
      std::vector<std::size_t> inputs;
      for (const TreeTensor& from : call.inputs) inputs.push_back(flat.at({from.layer, from.call}));
      std::size_t& result = flat[{tensor.layer, tensor.call}];
      const bool no_training = inference || call.inference;
      if (node.is_input) {
        if (tensor.layer != tree.order[0].layer)
          throw UserError("the model has several inputs", context_.file,
                          "models with one input are supported");
        result = input;
      } else if (node.model) {
        if (inputs.size() != 1)
          throw UserError("a nested model is called with several inputs",
                          context_.file + ": model " + node.name, "models with one input are supported");
        check_nested_input_.push_back({inputs[0], node.model.get()});
        result = expand(*node.model, inputs[0], no_training);
      } else {
        result = add_call(node.flat, std::move(inputs), no_training);
      }
    }
    return flat.at({tree.output.layer, tree.output.call});
  }

  // Layers and calls in Keras' order of the flattened model.
  void sort(std::size_t output) {
    std::vector<OrderNode> nodes;
    for (const Call& call : model_.calls) nodes.push_back({call.layer, call.inputs});
    const LayerOrder order = keras_layer_order(nodes, output, context_.file);
    std::map<std::size_t, std::size_t> new_call, new_layer;
    for (const std::size_t layer : order.layers) new_layer.emplace(layer, new_layer.size());
    std::vector<Call> calls;
    for (const std::size_t node : order.nodes) {
      new_call.emplace(node, calls.size());
      Call& call = calls.emplace_back(std::move(model_.calls[node]));
      call.layer = new_layer.at(call.layer);
      for (std::size_t& input : call.inputs) input = new_call.at(input);
    }
    model_.calls = std::move(calls);
    model_.output_call = new_call.at(output);
    for (auto& [call, nested] : check_nested_input_) call = new_call.at(call);
    std::vector<FlatLayer> sorted(order.layers.size());
    for (const auto& [from, to] : new_layer) sorted[to] = std::move(layers_[from]);
    layers_ = std::move(sorted);
    renumber(tree_, new_layer);
  }

  static void renumber(ModelTree& tree, const std::map<std::size_t, std::size_t>& new_layer) {
    for (TreeLayer& node : tree.layers) {
      if (node.model)
        renumber(*node.model, new_layer);
      else
        node.flat = new_layer.at(node.flat);
    }
  }

  // Flat names made unique in the layers' order, so that a written and reloaded model has the same.
  void name_layers() {
    std::set<std::string> taken;
    for (FlatLayer& flat : layers_) {
      std::string name = flat.wanted_name;
      for (int k = 1; !taken.insert(name).second; ++k) name = flat.wanted_name + "_" + std::to_string(k);
      flat.layer->name = name;
      model_.layers.push_back(std::move(flat.layer));
      model_.layer_paths.push_back(flat.path);
    }
  }

  void build() {
    for (Call& call : model_.calls) {
      std::vector<Shape> inputs;
      for (const std::size_t input : call.inputs) inputs.push_back(model_.calls[input].shape);
      call.shape = model_.layers[call.layer]->build(inputs);
    }
    for (const auto& [call, nested] : check_nested_input_) {
      if (!nested->input_known || fits(nested->input_dims, model_.calls[call].shape)) continue;
      throw UserError("a nested model that takes " + dims_text(nested->input_dims) + " is called on " +
                          to_string(model_.calls[call].shape),
                      context_.file + ": model " + nested->name, "make the two shapes the same");
    }
    for (std::size_t k = 0; k < model_.layers.size(); ++k) {
      const Layer& layer = *model_.layers[k];
      std::vector<std::int64_t>& indices = model_.layer_weights.emplace_back();
      for (const WeightSpec& spec : layer.weights()) {
        indices.push_back(static_cast<std::int64_t>(model_.weights.size()));
        model_.weights.push_back({layer.name + "/" + spec.name, spec, spec.trainable && layer.trainable, {}});
      }
    }
  }

  bool is_chain() const {
    if (model_.calls.size() != model_.layers.size()) return false;
    for (std::size_t k = 1; k < model_.calls.size(); ++k)
      if (model_.calls[k].inputs != std::vector<std::size_t>{k - 1} || model_.calls[k].inference)
        return false;
    return model_.output_call + 1 == model_.calls.size();
  }

  ModelTree& tree_;
  const ParseContext& context_;
  Model model_;
  std::vector<FlatLayer> layers_;
  std::vector<std::pair<std::size_t, const ModelTree*>> check_nested_input_;  // call of the input → model
};

}  // namespace

Model flatten(std::unique_ptr<ModelTree> tree, const ParseContext& context,
              const std::optional<Shape>& data_shape) {
  const Shape input_shape = input_shape_of(*tree, context.file, data_shape);
  Model model = Flattener(*tree, context).flatten(input_shape);
  model.tree = std::move(tree);
  return model;
}

}  // namespace stoker::keras
