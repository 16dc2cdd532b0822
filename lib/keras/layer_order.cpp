#include "lib/keras/layer_order.h"

#include <algorithm>
#include <map>

#include "lib/base/error.h"

namespace stoker::keras {
namespace {

struct Search {
  std::vector<std::size_t> left;           // nodes, topologically
  std::map<std::size_t, std::size_t> met;  // layer → when it was first entered
};

// Depth first, with a stack of our own: a model may be thousands of layers deep.
Search search_from(const std::vector<OrderNode>& nodes, std::size_t output, const std::string& where) {
  enum class State : unsigned char { unseen, entered, done };
  std::vector<State> state(nodes.size(), State::unseen);
  struct Frame {
    std::size_t node, next_input;
  };
  std::vector<Frame> stack;
  Search search;
  const auto enter = [&](std::size_t node) {
    state[node] = State::entered;
    search.met.emplace(nodes[node].layer, search.met.size());
    stack.push_back({node, 0});
  };
  enter(output);
  while (!stack.empty()) {
    Frame& frame = stack.back();
    const std::vector<std::size_t>& inputs = nodes[frame.node].inputs;
    if (frame.next_input == inputs.size()) {
      state[frame.node] = State::done;
      search.left.push_back(frame.node);
      stack.pop_back();
      continue;
    }
    const std::size_t input = inputs[frame.next_input++];
    if (state[input] == State::entered)
      throw UserError("the layers' calls form a cycle", where, "save the model again with Keras");
    if (state[input] == State::unseen) enter(input);
  }
  return search;
}

}  // namespace

LayerOrder keras_layer_order(const std::vector<OrderNode>& nodes, std::size_t output,
                             const std::string& where) {
  const Search search = search_from(nodes, output, where);
  std::vector<std::size_t> node_depth(nodes.size(), 0);
  std::map<std::size_t, std::size_t> layer_depth;
  // From the output on: a node is deeper than all that use it, and a shared layer is as deep as its deepest
  // call met so far, which also deepens that call's inputs (as in Keras, where this can depend on the order).
  for (auto node = search.left.rbegin(); node != search.left.rend(); ++node) {
    std::size_t& depth = layer_depth[nodes[*node].layer];
    depth = std::max(depth, node_depth[*node]);
    for (const std::size_t input : nodes[*node].inputs)
      node_depth[input] = std::max(node_depth[input], depth + 1);
  }
  LayerOrder order;
  order.nodes = search.left;
  for (const auto& [layer, when] : search.met) order.layers.push_back(layer);
  std::sort(order.layers.begin(), order.layers.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t depth_a = layer_depth.at(a), depth_b = layer_depth.at(b);
    return depth_a != depth_b ? depth_a > depth_b : search.met.at(a) < search.met.at(b);
  });
  return order;
}

}  // namespace stoker::keras
