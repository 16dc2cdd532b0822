// "inbound_nodes" of a layer in a functional model, in both dialects (see model_tree.h).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stoker::keras {

// A tensor as the file names it.
struct NamedTensor {
  std::string layer;
  std::int64_t node = 0;
};

struct CallConfig {
  std::vector<NamedTensor> inputs;
  std::size_t positional = 0;  // arguments: 1 for a merge of a list, 2 for the operation x + y
  bool keras3 = false;         // of the Keras 3 form
  bool inference = false;      // training=False that Keras 2 holds to in training too
};

// `where` names file and layer. Throws UserError for arguments that are not honoured: tensors and values
// besides the inputs, masks, training=True.
std::vector<CallConfig> parse_calls(const nlohmann::json& inbound_nodes, const std::string& where);

// "input_layers" or "output_layers" (`key`): the one tensor it names. Throws UserError when there are more.
NamedTensor parse_end(const nlohmann::json& ends, const char* key, const std::string& where);

}  // namespace stoker::keras
