#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "lib/graph/graph.h"
#include "lib/graph/op_table.h"
#include "lib/tensor/memory.h"

namespace stoker::graph {
namespace {

constexpr std::size_t kNoBlock = static_cast<std::size_t>(-1);

// A piece of the arena, in use from op `first` to op `last`, both included.
struct Block {
  std::int64_t bytes = 0;
  std::size_t first = 0, last = 0;
  std::int64_t offset = 0;
};

// Groups the values into blocks: a view joins its source's, an op that works in place that of its input.
class BlockBuilder {
 public:
  explicit BlockBuilder(const Graph& graph)
      : graph_(graph), last_use_(graph.values.size(), 0), block_of_(graph.values.size(), kNoBlock) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
      for (const std::vector<ValueId>* ids : {&graph.ops[i].inputs, &graph.ops[i].outputs})
        for (const ValueId id : *ids)
          if (id != kNoValue) last_use_[static_cast<std::size_t>(id)] = i;
    for (std::size_t i = 0; i < graph.ops.size(); ++i)
      for (std::size_t k = 0; k < graph.ops[i].outputs.size(); ++k) assign(i, k);
  }

  std::vector<Block>& blocks() { return blocks_; }
  const std::vector<std::size_t>& block_of() const { return block_of_; }

 private:
  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }
  std::size_t block_of(ValueId id) const { return block_of_[static_cast<std::size_t>(id)]; }

  void assign(std::size_t op_index, std::size_t output) {
    const Op& op = graph_.ops[op_index];
    const ValueId id = op.outputs[output];
    if (id == kNoValue || value(id).role != Role::activation) return;
    std::size_t block;
    if (op.kind == OpKind::reshape) {
      block = block_of(op.inputs[0]);
      if (block == kNoBlock) return;
    } else {
      block = output == 0 ? block_to_overwrite(op, op_index) : kNoBlock;
    }
    if (block == kNoBlock) {
      const Value& v = value(id);
      const std::int64_t bytes = v.shape.elements() * static_cast<std::int64_t>(size_of(v.dtype));
      blocks_.push_back({bytes, op_index, op_index, 0});
      block = blocks_.size() - 1;
    }
    block_of_[static_cast<std::size_t>(id)] = block;
    blocks_[block].last = std::max(blocks_[block].last, last_use_[static_cast<std::size_t>(id)]);
  }

  // A block that the op reads as an operand of its output's shape, and that nothing reads afterwards: values
  // that will be views of it are read by a later op, so they count already.
  std::size_t block_to_overwrite(const Op& op, std::size_t op_index) const {
    if (!definition_of(op.kind).element_wise) return kNoBlock;
    const Shape& shape = value(op.outputs[0]).shape;
    if (op.kind == OpKind::binary && !(value(op.inputs[0]).shape == value(op.inputs[1]).shape))
      return kNoBlock;
    for (const ValueId id : op.inputs) {
      if (id == kNoValue || block_of(id) == kNoBlock || !(value(id).shape == shape)) continue;
      if (blocks_[block_of(id)].last == op_index) return block_of(id);
    }
    return kNoBlock;
  }

  const Graph& graph_;
  std::vector<std::size_t> last_use_;  // by value: the last op that reads or writes it
  std::vector<std::size_t> block_of_;
  std::vector<Block> blocks_;
};

// The smallest gap that holds the block, between those placed blocks that live at a time with it; else the
// end of the last of them.
std::int64_t best_offset(const Block& block, const std::vector<const Block*>& placed_by_offset) {
  const std::int64_t size = static_cast<std::int64_t>(align_up(static_cast<std::size_t>(block.bytes)));
  std::int64_t best = -1, best_gap = 0, end = 0;
  for (const Block* other : placed_by_offset) {
    if (other->last < block.first || block.last < other->first) continue;
    const std::int64_t gap = other->offset - end;
    if (gap >= size && (best < 0 || gap < best_gap)) {
      best = end;
      best_gap = gap;
    }
    end = std::max(
        end, other->offset + static_cast<std::int64_t>(align_up(static_cast<std::size_t>(other->bytes))));
  }
  return best < 0 ? end : best;
}

// Gives every block its offset, the largest first; returns the bytes of the arena.
std::int64_t place(std::vector<Block>& blocks) {
  std::vector<std::size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  std::vector<const Block*> placed_by_offset;
  std::int64_t end = 0;
  for (const std::size_t i : order) {
    Block& block = blocks[i];
    block.offset = best_offset(block, placed_by_offset);
    end = std::max(end,
                   block.offset + static_cast<std::int64_t>(align_up(static_cast<std::size_t>(block.bytes))));
    const auto position =
        std::upper_bound(placed_by_offset.begin(), placed_by_offset.end(), &block,
                         [](const Block* a, const Block* b) { return a->offset < b->offset; });
    placed_by_offset.insert(position, &block);
  }
  return end;
}

}  // namespace

MemoryPlan plan_memory(const Graph& graph, std::span<const std::size_t> scratch_bytes) {
  if (!scratch_bytes.empty() && scratch_bytes.size() != graph.ops.size())
    throw std::logic_error("the memory plan needs the scratch of every op, or of none");
  BlockBuilder builder(graph);
  std::vector<Block>& blocks = builder.blocks();
  std::vector<std::size_t> scratch_block(graph.ops.size(), kNoBlock);
  for (std::size_t i = 0; i < scratch_bytes.size(); ++i) {
    if (scratch_bytes[i] == 0) continue;
    scratch_block[i] = blocks.size();
    blocks.push_back({static_cast<std::int64_t>(scratch_bytes[i]), i, i, 0});
  }

  MemoryPlan plan;
  plan.arena_bytes = place(blocks);
  const auto offset_of = [&](std::size_t block) { return block == kNoBlock ? -1 : blocks[block].offset; };
  for (const std::size_t block : builder.block_of()) plan.value_offset.push_back(offset_of(block));
  for (const std::size_t block : scratch_block) plan.scratch_offset.push_back(offset_of(block));
  return plan;
}

}  // namespace stoker::graph
