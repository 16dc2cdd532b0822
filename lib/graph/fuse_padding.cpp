#include "lib/graph/graph.h"
#include "lib/graph/graph_edit.h"

namespace stoker::graph {
namespace {

const Shape& shape_of(const Graph& graph, ValueId id) {
  return graph.values[static_cast<std::size_t>(id)].shape;
}

// Adds `more` to the padding unless a window could then lie in the padding alone, which libraries compute
// slowly or not at all.
bool add_padding(Conv2DAttributes& a, const Padding2D& more, const Shape& kernel) {
  const Padding2D sum{a.padding.top + more.top, a.padding.bottom + more.bottom, a.padding.left + more.left,
                      a.padding.right + more.right};
  const std::int64_t height = (kernel[0] - 1) * a.dilation_h + 1, width = (kernel[1] - 1) * a.dilation_w + 1;
  if (sum.top >= height || sum.bottom >= height || sum.left >= width || sum.right >= width) return false;
  a.padding = sum;
  return true;
}

// conv2d(pad2d(x), w) → conv2d(x, w), and the same for conv2d_grad_weights(pad2d(x), dy).
void fuse_forward(Graph& graph, Op& op) {
  const Op* pad = producer_of(graph, op.inputs[0]);
  if (pad == nullptr || pad->kind != OpKind::pad2d) return;
  const ValueId kernel = op.kind == OpKind::conv2d ? op.inputs[1] : op.outputs[0];
  auto& attributes = std::get<Conv2DAttributes>(op.attributes);
  if (add_padding(attributes, std::get<Padding2D>(pad->attributes), shape_of(graph, kernel)))
    op.inputs[0] = pad->inputs[0];
}

// slice(conv2d_grad_input(dy, w)) → conv2d_grad_input(dy, w): the gradient of the padding is never computed.
// The slice must keep samples and channels whole, and be the only reader.
bool fuse_backward(Graph& graph, const std::vector<std::vector<std::size_t>>& readers, const Op& slice) {
  Op* gradient = producer_of(graph, slice.inputs[0]);
  if (gradient == nullptr || gradient->kind != OpKind::conv2d_grad_input) return false;
  const std::size_t padded_id = static_cast<std::size_t>(slice.inputs[0]);
  if (readers[padded_id].size() != 1 || graph.values[padded_id].role != Role::activation) return false;
  const Shape& padded = graph.values[padded_id].shape;
  const auto& box = std::get<SliceAttributes>(slice.attributes);
  if (box.size[0] != padded[0] || box.size[3] != padded[3]) return false;
  const Padding2D padding{box.begin[1], padded[1] - box.begin[1] - box.size[1], box.begin[2],
                          padded[2] - box.begin[2] - box.size[2]};
  auto& attributes = std::get<Conv2DAttributes>(gradient->attributes);
  if (!add_padding(attributes, padding, shape_of(graph, gradient->inputs[1]))) return false;
  gradient->outputs[0] = slice.outputs[0];
  return true;
}

}  // namespace

void fuse_padding(Graph& graph) {
  const auto readers = readers_of(graph);
  std::vector<bool> dead(graph.ops.size(), false);
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    Op& op = graph.ops[i];
    if (op.kind == OpKind::conv2d || op.kind == OpKind::conv2d_grad_weights) fuse_forward(graph, op);
    if (op.kind == OpKind::slice) dead[i] = fuse_backward(graph, readers, op);
  }
  erase_ops(graph, dead);
}

}  // namespace stoker::graph
