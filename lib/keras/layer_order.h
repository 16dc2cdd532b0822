// The order in which Keras counts the layers of a functional model (model.layers): weights in legacy .h5
// files, and the numbers in .keras files, follow it, not the order of the config.
//
// Keras 2 (tf_keras/src/engine/functional.py, map_graph_network) and Keras 3 (keras/src/ops/function.py,
// map_graph) agree: layers by decreasing depth (the longest way to the output), and within a depth in the
// order in which a depth-first search from the output enters them. So Add([early, deep(late)]) of one input
// counts late, early, deep.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace stoker::keras {

// One call of a layer.
struct OrderNode {
  std::size_t layer = 0;
  std::vector<std::size_t> inputs;  // nodes, in the order of the call's arguments
};

struct LayerOrder {
  std::vector<std::size_t> nodes;   // those the output needs, topologically: as the search leaves them
  std::vector<std::size_t> layers;  // those the output needs, in Keras' order
};

// `output` is the node that makes the model's output. Throws UserError naming `where` if calls form a cycle.
LayerOrder keras_layer_order(const std::vector<OrderNode>& nodes, std::size_t output,
                             const std::string& where);

}  // namespace stoker::keras
