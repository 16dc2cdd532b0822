#include "lib/keras/layer_order.h"

#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using Indices = std::vector<std::size_t>;

// Layers: 0 input, 1 early, 2 late, 3 deep, 4 add. Keras counts late, early, deep for Add([early, deep(late)])
// and late, deep, early for Add([deep(late), early]).
TEST(LayerOrder, DepthThenTheWayFromTheOutput) {
  std::vector<OrderNode> nodes = {{0, {}}, {1, {0}}, {2, {0}}, {3, {2}}, {4, {1, 3}}};
  EXPECT_EQ(keras_layer_order(nodes, 4, "").layers, (Indices{0, 2, 1, 3, 4}));
  nodes[4].inputs = {3, 1};
  EXPECT_EQ(keras_layer_order(nodes, 4, "").layers, (Indices{0, 2, 3, 1, 4}));
}

// Layer 1 is called twice: its deepest call counts, and its first entry orders it.
TEST(LayerOrder, ASharedLayerIsAsDeepAsItsDeepestCall) {
  const std::vector<OrderNode> nodes = {{0, {}}, {1, {0}}, {2, {0}}, {1, {2}}, {3, {1, 3}}};
  const LayerOrder order = keras_layer_order(nodes, 4, "");
  EXPECT_EQ(order.layers, (Indices{0, 2, 1, 3}));
  EXPECT_EQ(order.nodes, (Indices{0, 1, 2, 3, 4}));
}

TEST(LayerOrder, WhatTheOutputDoesNotNeedIsLeftOut) {
  const std::vector<OrderNode> nodes = {{0, {}}, {1, {0}}, {2, {0}}};
  EXPECT_EQ(keras_layer_order(nodes, 2, "").layers, (Indices{0, 2}));
}

TEST(LayerOrder, ACycleIsNamed) {
  const std::vector<OrderNode> nodes = {{0, {1}}, {1, {0}}};
  EXPECT_SAYS(user_error([&] { keras_layer_order(nodes, 1, "file"); }), "cycle: file");
}

TEST(LayerOrder, AsDeepAsMemoryAllows) {
  std::vector<OrderNode> nodes = {{0, {}}};
  for (std::size_t k = 1; k < 200000; ++k) nodes.push_back({k, {k - 1}});
  EXPECT_EQ(keras_layer_order(nodes, nodes.size() - 1, "").layers.size(), nodes.size());
}

}  // namespace
}  // namespace stoker::keras
