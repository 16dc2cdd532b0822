#include "lib/keras/call_config.h"

#include "lib/base/error.h"
#include "lib/keras/json_access.h"

namespace stoker::keras {
namespace {

[[noreturn]] void refuse_argument(const std::string& what, const std::string& where) {
  throw UserError("the call's " + what + " is not supported", where,
                  "call the layer with its input tensors only and save the model again");
}

bool is_tensor_triple(const nlohmann::json& value) {
  return value.is_array() && (value.size() == 3 || value.size() == 4) && value[0].is_string() &&
         value[1].is_number_integer() && value[2].is_number_integer();
}

NamedTensor tensor_of_triple(const nlohmann::json& triple, const std::string& where) {
  if (triple[2] != 0)
    throw UserError("uses output " + triple[2].dump() + " of layer " + triple[0].get<std::string>(), where,
                    "layers with several outputs are not supported");
  return {triple[0].get<std::string>(), triple[1].get<std::int64_t>()};
}

bool is_keras3_tensor(const nlohmann::json& value) {
  return value.is_object() && text_or(value, "class_name", "") == "__keras_tensor__";
}

bool holds_tensor(const nlohmann::json& value) {
  if (is_keras3_tensor(value) || is_tensor_triple(value)) return true;
  if (value.is_structured())
    for (const auto& [key, item] : value.items())
      if (holds_tensor(item)) return true;
  return false;
}

void add_keras3_tensors(const nlohmann::json& value, const std::string& where, CallConfig& call) {
  if (is_keras3_tensor(value)) {
    const nlohmann::json& history =
        array_member(object_member(value, "config", where), "keras_history", where);
    if (!is_tensor_triple(history)) malformed("a call's \"keras_history\" names no tensor", where);
    call.inputs.push_back(tensor_of_triple(history, where));
  } else if (value.is_array()) {
    for (const nlohmann::json& item : value) add_keras3_tensors(item, where, call);
  } else {
    refuse_argument("argument " + value.dump() + " (no tensor)", where);
  }
}

// Keras 3 calls the layer in fit, evaluate and predict with their own `training`, whatever the file says
// (and it writes training=False for every Dropout); Keras 2 holds to what it says.
void parse_keywords(const nlohmann::json& keywords, const std::string& where, CallConfig& call) {
  if (!keywords.is_object()) malformed("a call's keyword arguments are no JSON object", where);
  for (const auto& [key, value] : keywords.items()) {
    if (value.is_null()) continue;
    if (key == "inputs" && call.keras3 && holds_tensor(value)) {
      add_keras3_tensors(value, where, call);
      ++call.positional;
    } else if (key == "training" && value == false) {
      call.inference = !call.keras3;
    } else {
      refuse_argument((holds_tensor(value) ? "tensor argument \"" : "argument \"") + key +
                          (holds_tensor(value) ? "\"" : "=" + value.dump() + "\""),
                      where);
    }
  }
}

CallConfig parse_keras3_call(const nlohmann::json& node, const std::string& where) {
  CallConfig call;
  call.keras3 = true;
  for (const nlohmann::json& argument : array_member(node, "args", where)) {
    if (argument.is_null()) continue;
    add_keras3_tensors(argument, where, call);
    ++call.positional;
  }
  if (node.contains("kwargs")) parse_keywords(node["kwargs"], where, call);
  return call;
}

CallConfig parse_keras2_call(const nlohmann::json& node, const std::string& where) {
  CallConfig call;
  call.positional = 1;
  const auto add = [&](const nlohmann::json& tensor) {
    if (!is_tensor_triple(tensor)) malformed("a call names no tensor: " + tensor.dump(), where);
    call.inputs.push_back(tensor_of_triple(tensor, where));
    if (tensor.size() == 4) parse_keywords(tensor[3], where, call);
  };
  if (is_tensor_triple(node))  // a call of one tensor may go without the list around it
    add(node);
  else
    for (const nlohmann::json& tensor : node) add(tensor);
  return call;
}

}  // namespace

std::vector<CallConfig> parse_calls(const nlohmann::json& inbound_nodes, const std::string& where) {
  if (!inbound_nodes.is_array()) malformed("\"inbound_nodes\" is no JSON list", where);
  std::vector<CallConfig> calls;
  for (const nlohmann::json& node : inbound_nodes) {
    if (node.is_object())
      calls.push_back(parse_keras3_call(node, where));
    else if (node.is_array())
      calls.push_back(parse_keras2_call(node, where));
    else
      malformed("an entry of \"inbound_nodes\" is neither list nor object", where);
    if (calls.back().inputs.empty()) malformed("a call has no input tensor", where);
  }
  return calls;
}

NamedTensor parse_end(const nlohmann::json& ends, const char* key, const std::string& where) {
  if (is_tensor_triple(ends)) return tensor_of_triple(ends, where);
  if (!ends.is_structured() || ends.empty()) malformed(std::string("\"") + key + "\" names no tensor", where);
  if (ends.size() > 1) {
    const bool input = std::string(key) == "input_layers";
    throw UserError("the model has " + std::to_string(ends.size()) + (input ? " inputs" : " outputs"), where,
                    input ? "models with one input are supported" : "models with one output are supported");
  }
  return parse_end(ends.is_array() ? ends[0] : ends.begin().value(), key, where);
}

}  // namespace stoker::keras
