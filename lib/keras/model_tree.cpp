#include "lib/keras/model_tree.h"

#include <algorithm>
#include <map>
#include <set>

#include "lib/base/error.h"
#include "lib/keras/call_config.h"
#include "lib/keras/json_access.h"
#include "lib/keras/layer_order.h"
#include "lib/keras/layers/layer_table.h"
#include "lib/keras/snake_case.h"

namespace stoker::keras {
namespace {

bool is_model_class(const std::string& name) {
  return name == "Sequential" || name == "Functional" || name == "Model";
}

// x + y in a Keras 3 model is a call of "Add" with two arguments, of the layer it is one: a list.
bool is_operator(const std::string& class_name) {
  for (const char* name : {"Add", "Subtract", "Multiply", "Maximum", "Minimum"})
    if (class_name == name) return true;
  return false;
}

std::string name_of_layer(const nlohmann::json& layer) {
  const auto config = layer.find("config");
  return text_or(layer, "name", config == layer.end() ? "" : text_or(*config, "name", ""));
}

// What an InputLayer, or the first layer of an old Sequential, says of the input.
void read_input_dims(const nlohmann::json& config, const std::string& where, ModelTree& tree) {
  for (const char* key : {"batch_input_shape", "batch_shape", "build_input_shape"}) {
    if (tree.input_known || is_null_or_absent(config, key)) continue;
    tree.input_dims = dims_without_batch(config[key], where);
    tree.input_known = true;
  }
}

TreeLayer make_tree_layer(const nlohmann::json& json, const std::string& name, const std::string& where,
                          const ParseContext& context) {
  TreeLayer layer;
  layer.name = name;
  layer.class_name = text_member(json, "class_name", where);
  layer.is_input = layer.class_name == "InputLayer";
  if (is_model_class(layer.class_name)) {
    layer.model = parse_model_tree(json, context);
    layer.model->name = name;
  } else {
    layer.json = json;
  }
  return layer;
}

// A chain. An InputLayer is put in front where the file has none, so that all models look alike.
class SequentialReader {
 public:
  SequentialReader(const nlohmann::json& model, const ParseContext& context)
      : context_(context), config_(model.at("config")) {
    tree_.class_name = "Sequential";
    tree_.name = config_.is_object() ? text_or(config_, "name", "sequential") : "sequential";
    where_ = context.file + ": model " + tree_.name;
    if (config_.is_object()) tree_.trainable = config_.value("trainable", true);
  }

  ModelTree read() {
    const nlohmann::json& layers = config_.is_array() ? config_ : array_member(config_, "layers", where_);
    if (layers.empty())
      throw UserError("the model has no layers", where_, "add layers and save the model again");
    for (const nlohmann::json& layer : layers) add(layer);
    if (config_.is_object()) read_input_dims(config_, where_, tree_);
    if (!tree_.input_known && tree_.layers[1].model && tree_.layers[1].model->input_known) {
      tree_.input_dims = tree_.layers[1].model->input_dims;
      tree_.input_known = true;
    }
    link();
    return std::move(tree_);
  }

 private:
  void add(const nlohmann::json& json) {
    const std::string class_name = text_member(json, "class_name", where_);
    const nlohmann::json& config = json.contains("config") ? json["config"] : nlohmann::json::object();
    if (tree_.layers.empty()) {
      if (config.is_object() && !is_model_class(class_name)) read_input_dims(config, where_, tree_);
      if (class_name != "InputLayer") {
        TreeLayer input;
        input.name = "input_layer";
        input.class_name = "InputLayer";
        input.json = {{"class_name", "InputLayer"}, {"config", {{"name", "input_layer"}}}};
        input.is_input = true;
        tree_.layers.push_back(std::move(input));
      }
    } else if (class_name == "InputLayer") {
      malformed("an InputLayer stands within a Sequential", where_);
    }
    std::string name = name_of_layer(json);
    if (name.empty()) name = fresh_name(class_name);
    if (!names_.insert(name).second) malformed("two layers have the name " + name, where_);
    tree_.layers.push_back(make_tree_layer(json, name, where_, context_));
  }

  std::string fresh_name(const std::string& class_name) {  // as Keras names a layer without one
    const std::string base = snake_case(class_name);
    std::string name = base;
    for (int k = 1; names_.contains(name); ++k) name = base + "_" + std::to_string(k);
    return name;
  }

  void link() {
    for (std::size_t k = 0; k < tree_.layers.size(); ++k) {
      TreeCall call;
      if (k > 0) call.inputs.push_back({k - 1, 0});
      tree_.layers[k].calls.push_back(std::move(call));
      tree_.order.push_back({k, 0});
    }
    tree_.output = tree_.order.back();
    if (tree_.layers.size() == 1)
      throw UserError("the model has no layers besides its input", where_,
                      "add layers and save the model again");
  }

  const ParseContext& context_;
  const nlohmann::json& config_;
  std::string where_;
  std::set<std::string> names_;
  ModelTree tree_;
};

class FunctionalReader {
 public:
  FunctionalReader(const nlohmann::json& model, const ParseContext& context)
      : context_(context), config_(object_member(model, "config", context.file)) {
    tree_.class_name = "Functional";
    tree_.name = text_or(config_, "name", "functional");
    where_ = context.file + ": model " + tree_.name;
    tree_.trainable = config_.value("trainable", true);
  }

  ModelTree read() {
    for (const nlohmann::json& layer : array_member(config_, "layers", where_)) add(layer);
    const NamedTensor input = parse_end(member("input_layers"), "input_layers", where_);
    const NamedTensor output = parse_end(member("output_layers"), "output_layers", where_);
    resolve_calls();
    tree_.output = resolve_end(output);
    sort_layers();
    if (tree_.layers[tree_.order[0].layer].name != input.layer)
      malformed("the output does not depend on the input " + input.layer, where_);
    return std::move(tree_);
  }

 private:
  const nlohmann::json& member(const char* key) {
    if (!config_.contains(key)) malformed(std::string("the architecture lacks \"") + key + "\"", where_);
    return config_[key];
  }

  std::vector<CallConfig> calls_of(const nlohmann::json& layer, const std::string& where) const {
    try {
      return parse_calls(layer.contains("inbound_nodes") ? layer["inbound_nodes"] : nlohmann::json::array(),
                         where);
    } catch (const UserError&) {
      // That the layer is not known says more than what it is called with.
      if (!is_model_class(text_or(layer, "class_name", ""))) check_layer_class(layer, context_);
      throw;
    }
  }

  void add(const nlohmann::json& json) {
    const std::string name = name_of_layer(json);
    if (name.empty()) malformed("a layer of the functional model has no name", where_);
    if (!index_.emplace(name, tree_.layers.size()).second)
      malformed("two layers have the name " + name, where_);
    const std::string where = where_ + ": layer " + name;
    const std::string class_name = text_member(json, "class_name", where);
    if (class_name == "TFOpLambda" || class_name == "SlicingOpLambda")
      throw UserError(
          "an operation on tensors outside any layer is not supported", where,
          "use a layer that does the same (Add, Multiply, Rescaling, …) and save the model again");
    std::vector<CallConfig> calls = calls_of(json, where);
    tree_.layers.push_back(make_tree_layer(json, name, where, context_));
    TreeLayer& layer = tree_.layers.back();
    for (const CallConfig& call : calls)
      if (call.positional > 1 && !is_operator(layer.class_name))
        throw UserError("the layer is called with several arguments", where,
                        "call it with its input, or with a list of inputs");
    if (layer.is_input) {
      if (!calls.empty()) malformed("an InputLayer has an input", where);
      calls.resize(1);
      read_input_dims(object_member(json, "config", where), where, tree_);
    }
    call_configs_.push_back(std::move(calls));
  }

  std::size_t layer_index(const std::string& name) {
    const auto found = index_.find(name);
    if (found == index_.end()) malformed("a call refers to layer " + name + ", which is not there", where_);
    return found->second;
  }

  void resolve_calls() {
    for (std::size_t k = 0; k < tree_.layers.size(); ++k)
      for (const CallConfig& config : call_configs_[k]) {
        TreeCall call;
        call.inference = config.inference;
        for (const NamedTensor& tensor : config.inputs) {
          const std::size_t layer = layer_index(tensor.layer);
          const bool from_one = tree_.layers[layer].model && !config.keras3;
          call.inputs.push_back({layer, call_number(layer, tensor.node, from_one)});
        }
        tree_.layers[k].calls.push_back(std::move(call));
      }
  }

  // The output's node number. In a nested model it may count from 0 or 1 (see model_tree.h): the file holds
  // no call that nothing uses, so it is the call that no other layer uses, where there is one.
  TreeTensor resolve_end(const NamedTensor& tensor) {
    const std::size_t layer = layer_index(tensor.layer);
    const TreeLayer& target = tree_.layers[layer];
    bool from_one = target.model && !(target.model->sequential() && context_.keras_major == 3);
    if (target.model) {
      std::set<std::size_t> used;
      for (const TreeLayer& other : tree_.layers)
        for (const TreeCall& call : other.calls)
          for (const TreeTensor& input : call.inputs)
            if (input.layer == layer) used.insert(input.call);
      const auto fits = [&](std::int64_t number) {
        return number >= 0 && number < static_cast<std::int64_t>(target.calls.size()) &&
               !used.contains(static_cast<std::size_t>(number));
      };
      if (fits(tensor.node) != fits(tensor.node - 1)) from_one = fits(tensor.node - 1);
    }
    return {layer, call_number(layer, tensor.node, from_one)};
  }

  std::size_t call_number(std::size_t layer, std::int64_t node, bool from_one) {
    const auto calls = static_cast<std::int64_t>(call_configs_[layer].size());
    std::int64_t number = from_one ? node - 1 : node;
    if (tree_.layers[layer].model && (number < 0 || number >= calls)) number = from_one ? node : node - 1;
    if (number < 0 || number >= calls)
      malformed("uses call " + std::to_string(node) + " of layer " + tree_.layers[layer].name +
                    ", which is not there",
                where_);
    return static_cast<std::size_t>(number);
  }

  // Keeps the layers that the output needs, in Keras' order, and renumbers the references to them.
  void sort_layers() {
    std::vector<OrderNode> nodes;
    std::vector<TreeTensor> tensor_of_node;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> node_of;
    for (std::size_t k = 0; k < tree_.layers.size(); ++k)
      for (std::size_t call = 0; call < tree_.layers[k].calls.size(); ++call) {
        node_of[{k, call}] = nodes.size();
        nodes.push_back({k, {}});
        tensor_of_node.push_back({k, call});
      }
    for (std::size_t n = 0; n < nodes.size(); ++n)
      for (const TreeTensor& input :
           tree_.layers[tensor_of_node[n].layer].calls[tensor_of_node[n].call].inputs)
        nodes[n].inputs.push_back(node_of.at({input.layer, input.call}));
    const LayerOrder order =
        keras_layer_order(nodes, node_of.at({tree_.output.layer, tree_.output.call}), where_);

    std::map<std::size_t, std::size_t> new_index;
    std::vector<TreeLayer> sorted;
    for (const std::size_t layer : order.layers) {
      new_index[layer] = sorted.size();
      sorted.push_back(std::move(tree_.layers[layer]));
    }
    for (const std::size_t node : order.nodes)
      tree_.order.push_back({new_index.at(tensor_of_node[node].layer), tensor_of_node[node].call});
    for (TreeLayer& layer : sorted)
      for (TreeCall& call : layer.calls)
        for (TreeTensor& input : call.inputs) {
          const auto found = new_index.find(input.layer);
          if (found != new_index.end()) input.layer = found->second;  // else a call that nothing needs
        }
    tree_.output.layer = new_index.at(tree_.output.layer);
    tree_.layers = std::move(sorted);
  }

  const ParseContext& context_;
  const nlohmann::json& config_;
  std::string where_;
  ModelTree tree_;
  std::map<std::string, std::size_t> index_;
  std::vector<std::vector<CallConfig>> call_configs_;
};

bool mentions_key(const nlohmann::json& value, const std::string& key) {
  if (value.is_object() && value.contains(key)) return true;
  return value.is_structured() && std::any_of(value.begin(), value.end(), [&](const nlohmann::json& item) {
           return mentions_key(item, key);
         });
}

}  // namespace

int keras_major_of(const nlohmann::json& model) {
  const std::string version = text_or(model, "keras_version", "");
  if (!version.empty() && version[0] >= '1' && version[0] <= '9') return version[0] >= '3' ? 3 : 2;
  if (mentions_key(model, "batch_input_shape")) return 2;
  return 3;
}

std::unique_ptr<ModelTree> parse_model_tree(const nlohmann::json& model, const ParseContext& context) {
  const std::string class_name = text_member(model, "class_name", context.file);
  if (!model.contains("config")) malformed("the architecture lacks \"config\"", context.file);
  if (class_name == "Sequential") return std::make_unique<ModelTree>(SequentialReader(model, context).read());
  if (is_model_class(class_name)) return std::make_unique<ModelTree>(FunctionalReader(model, context).read());
  throw UserError("the file holds a " + class_name + ", not a Sequential or functional model", context.file,
                  "build the model with keras.Sequential or keras.Model(inputs, outputs) and save it again");
}

}  // namespace stoker::keras
