// Small networks of the kinds that Stoker is tried on, built op by op.
#pragma once

#include <string>
#include <vector>

#include "lib/graph/graph.h"

namespace stoker::backend::cpu::test {

struct Net {
  std::string name;
  std::int64_t classes;
  // The forward part for a microbatch of n with dropout if training: returns the logits; parameters are made
  // in order from index 0.
  graph::ValueId (*build)(graph::GraphBuilder& builder, std::int64_t& parameters, bool training);
};

// mlp, lenet5, convnet (28×28×1), residual (strides, 1×1 shortcuts, batch norm), depthwise (relu6, concat).
const std::vector<Net>& small_nets();

// With softmax, sparse cross-entropy and accuracy; training: with all gradients; else the probabilities are
// the output. All passes have run.
graph::Graph build(const Net& net, std::int64_t n, bool training);

}  // namespace stoker::backend::cpu::test
