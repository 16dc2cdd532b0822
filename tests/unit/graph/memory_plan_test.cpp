// The memory plan, checked by running a graph on tags instead of numbers, byte by byte; and the parameter
// layout.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "lib/tensor/memory.h"
#include "tests/unit/graph/graph_test_support.h"

namespace stoker::graph::testing {
namespace {

// An arena in which every byte holds the number of the value that was written to it last.
class TaggedArena {
 public:
  TaggedArena(const Graph& graph, const MemoryPlan& plan, const std::vector<std::size_t>& scratch)
      : graph_(graph),
        plan_(plan),
        scratch_(scratch),
        bytes_(static_cast<std::size_t>(plan.arena_bytes), kNobody),
        tags_(graph.values.size(), kNobody) {}

  // Every op finds its inputs as they were written, while its scratch and outputs are being written.
  void run() {
    for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.kind == OpKind::reshape) {
        tags_[index(op.outputs[0])] = tags_[index(op.inputs[0])];
        expect_same_place(op);
        continue;
      }
      expect_inputs(op, i, kNoValue);
      if (!scratch_.empty() && scratch_[i] > 0) write(plan_.scratch_offset[i], scratch_[i], kScratch);
      expect_inputs(op, i, kNoValue);
      for (const ValueId id : op.outputs)
        if (is_planned(id)) {
          tags_[index(id)] = static_cast<std::int32_t>(id);
          write(offset(id), size(id), tags_[index(id)]);
        }
      expect_inputs(op, i, op.outputs[0]);
      for (const ValueId id : op.outputs) expect_intact(id, i);
      if (!scratch_.empty() && scratch_[i] > 0) expect_tag(plan_.scratch_offset[i], scratch_[i], kScratch, i);
    }
  }

 private:
  static constexpr std::int32_t kNobody = -1, kScratch = -2;

  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  std::int64_t offset(ValueId id) const { return plan_.value_offset[index(id)]; }
  std::size_t size(ValueId id) const {
    const Value& value = graph_.values[index(id)];
    return static_cast<std::size_t>(value.shape.elements()) * size_of(value.dtype);
  }
  bool is_planned(ValueId id) const { return id != kNoValue && offset(id) >= 0; }

  void write(std::int64_t at, std::size_t count, std::int32_t tag) {
    ASSERT_EQ(at % 64, 0);
    ASSERT_LE(at + static_cast<std::int64_t>(count), plan_.arena_bytes);
    std::fill_n(bytes_.begin() + at, count, tag);
  }
  void expect_tag(std::int64_t at, std::size_t count, std::int32_t tag, std::size_t op) const {
    for (std::size_t k = 0; k < count; ++k)
      ASSERT_EQ(bytes_[static_cast<std::size_t>(at) + k], tag) << "op " << op << "\n" << to_string(graph_);
  }
  void expect_intact(ValueId id, std::size_t op) const {
    if (is_planned(id)) expect_tag(offset(id), size(id), tags_[index(id)], op);
  }
  // `written`: an output, whose address an input may have in the ops that work in place.
  void expect_inputs(const Op& op, std::size_t i, ValueId written) const {
    for (const ValueId id : op.inputs) {
      if (written != kNoValue && is_planned(id) && offset(id) == offset(written) && works_in_place(op, id))
        continue;
      expect_intact(id, i);
    }
  }
  bool works_in_place(const Op& op, ValueId input) const {
    switch (op.kind) {
      case OpKind::activation:
      case OpKind::activation_grad:
      case OpKind::scale:
      case OpKind::affine:
      case OpKind::dropout:
        return size(input) == size(op.outputs[0]);
      case OpKind::binary:
        return size(op.inputs[0]) == size(op.outputs[0]) && size(op.inputs[1]) == size(op.outputs[0]);
      default:
        return false;
    }
  }
  void expect_same_place(const Op& view) const { EXPECT_EQ(offset(view.outputs[0]), offset(view.inputs[0])); }

  const Graph& graph_;
  const MemoryPlan& plan_;
  const std::vector<std::size_t>& scratch_;
  std::vector<std::int32_t> bytes_, tags_;
};

// Adds random ops over (2, k) and (2, 4, 4, k) values to a graph: views and a shared parameter included.
class RandomBody {
 public:
  RandomBody(GraphBuilder& builder, std::uint32_t seed) : b_(builder), engine_(seed) {
    values_.push_back(b_.input({4, 4, 2}));
    shared_ = parameter({4, 4});
  }

  ValueId add_ops() {
    for (std::size_t i = 5 + below(20); i > 0; --i) {
      const ValueId y = add_op(values_[values_.size() - 1 - below(std::min<std::size_t>(values_.size(), 4))]);
      if (b_.shape(y).elements() <= 512) values_.push_back(y);
    }
    return values_.back();
  }
  const std::vector<bool>& trainable() const { return trainable_; }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine_() % n); }
  ValueId parameter(const Shape& shape) {
    trainable_.push_back(below(4) != 0);
    return b_.parameter(static_cast<std::int64_t>(trainable_.size() - 1), shape, "p");
  }
  ValueId reshape(ValueId x, const Shape& shape) {
    return b_.add_shaped(OpKind::reshape, NoAttributes{}, {x}, shape, "reshape");
  }
  // x + any earlier value of its shape, itself at the least.
  ValueId add_earlier(ValueId x) {
    ValueId other = x;
    for (const ValueId id : values_)
      if (b_.shape(id) == b_.shape(x) && below(2) == 0) other = id;
    return b_.add(OpKind::binary, BinaryAttributes{}, {x, other}, "add");
  }
  ValueId add_op(ValueId x) {
    const Shape shape = b_.shape(x);
    const ActivationKind kinds[] = {ActivationKind::relu, ActivationKind::gelu, ActivationKind::tanh};
    switch (below(9)) {
      case 0:
        return b_.add(OpKind::activation, ActivationAttributes{.kind = kinds[below(3)]}, {x}, "activation");
      case 1:
        return add_earlier(x);
      case 2:
        return b_.add(OpKind::binary, BinaryAttributes{.kind = BinaryKind::multiply, .activation = {}},
                      {x, parameter({shape.back()})}, "multiply");
      case 3:
        return b_.add(OpKind::dropout, DropoutAttributes{0.3f, static_cast<std::uint32_t>(values_.size()), 0},
                      {x}, "dropout");
      case 4:
        return reshape(x, {2, shape.elements() / 2});
      case 5:
        return reshape(b_.add(OpKind::matmul, MatMulAttributes{},
                              {reshape(x, {shape.elements() / 4, 4}), shared_}, "dense"),
                       shape);
      case 6:
        return b_.add(OpKind::batch_norm, BatchNormAttributes{}, {x, parameter({shape.back()})}, "bn");
      case 7:
        return shape.rank() == 4 && shape[1] >= 2 ? b_.add(OpKind::pool2d, Pool2DAttributes{}, {x}, "pool")
                                                  : x;
      default:
        return b_.add(OpKind::concat, ConcatAttributes{shape.rank() - 1}, {x, x}, "concat");
    }
  }

  GraphBuilder& b_;
  std::mt19937 engine_;
  std::vector<ValueId> values_;
  std::vector<bool> trainable_;
  ValueId shared_ = kNoValue;
};

Graph random_graph(std::uint32_t seed) {
  GraphBuilder b(2);
  RandomBody body(b, seed);
  const ValueId y = body.add_ops();
  const Shape flat{2, b.shape(y).elements() / 2};
  const ValueId prediction = b.add_shaped(OpKind::reshape, NoAttributes{}, {y}, flat, "flat");
  b.add_loss({.kind = LossKind::mean_squared_error}, prediction, b.target(flat, DType::f32), true);
  b.set_output(prediction, seed % 2 == 0);
  Graph graph = b.finish();
  differentiate(graph, body.trainable());
  return graph;
}

std::vector<std::size_t> random_scratch(const Graph& graph, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<std::size_t> scratch;
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    scratch.push_back(engine() % 3 == 0 ? engine() % 700 : 0);
  return scratch;
}

TEST(MemoryPlan, NoTwoLiveValuesOverlap) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Graph graph = random_graph(seed);
    if (seed % 3 != 0) run_passes(graph);
    const std::vector<std::size_t> scratch = random_scratch(graph, seed);
    const MemoryPlan plan = plan_memory(graph, scratch);
    EXPECT_EQ(plan.arena_bytes % 64, 0);
    TaggedArena(graph, plan, scratch).run();
    if (HasFatalFailure()) return;
    const MemoryPlan again = plan_memory(graph, scratch);
    EXPECT_EQ(plan.value_offset, again.value_offset);
    EXPECT_EQ(plan.scratch_offset, again.scratch_offset);
  }
}

TEST(RandomGraphs, PassesChangeNoResult) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed);
    Graph passed = graph;
    run_passes(passed);
    expect_same_results(graph, passed, random_arguments(graph, 0.1, 1));
    if (HasFailure()) return;
  }
}

TEST(RandomGraphs, GradientsAreReadByNoOpAndBecomeReadyInOrder) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Graph graph = random_graph(seed);
    std::int32_t last = 0;
    for (const std::int64_t index : graph.ready_order)
      for (const Value& value : graph.values)
        if (value.role == Role::gradient && value.index == index) {
          EXPECT_GE(value.producer, last);
          last = value.producer;
        }
    for (const Op& op : graph.ops)
      for (const ValueId id : op.inputs) {
        if (id == kNoValue || op.kind == OpKind::reshape) continue;
        EXPECT_NE(graph.values[static_cast<std::size_t>(memory_root(graph, id))].role, Role::gradient);
      }
  }
}

TEST(MemoryPlan, AChainOfElementWiseOpsTakesOneBuffer) {
  GraphBuilder b(2);
  ValueId x = b.add(OpKind::softmax, NoAttributes{}, {b.input({100})}, "softmax");
  for (int i = 0; i < 5; ++i) x = b.add(OpKind::scale, ScaleAttributes{2}, {x}, "scale");
  x = b.add(OpKind::softmax, NoAttributes{}, {x}, "softmax");
  b.set_output(x, true);
  EXPECT_EQ(plan_memory(b.finish(), {}).arena_bytes, static_cast<std::int64_t>(align_up(800)));
}

TEST(MemoryPlan, AnInferenceChainTakesItsLargestNeighbours) {
  GraphBuilder b(1);
  ValueId x = b.input({16});
  std::int64_t index = 0;
  for (const std::int64_t units : {160, 32, 320, 16, 64}) {
    const ValueId w = b.parameter(index++, {b.shape(x)[1], units}, "w");
    x = b.add(OpKind::matmul, MatMulAttributes{}, {x, w}, "dense");
  }
  b.set_output(x, true);  // not in the arena
  EXPECT_EQ(plan_memory(b.finish(), {}).arena_bytes, 4 * (320 + 32));
}

TEST(MemoryPlan, ViewsOfOtherMemoryHaveNoOffset) {
  GraphBuilder b(2);
  const ValueId view = b.add_shaped(OpKind::reshape, NoAttributes{}, {b.input({2, 3})}, {2, 6}, "flat");
  b.set_output(b.add(OpKind::softmax, NoAttributes{}, {view}, "softmax"), true);
  const Graph graph = b.finish();
  const MemoryPlan plan = plan_memory(graph, {});
  EXPECT_EQ(plan.value_offset[static_cast<std::size_t>(view)], -1);
  EXPECT_EQ(memory_root(graph, view), 0);
  EXPECT_EQ(plan.arena_bytes, 0);
}

TEST(MemoryPlan, WantsTheScratchOfEveryOp) {
  const Graph graph = random_graph(1);
  const std::vector<std::size_t> one(1, 64);
  EXPECT_THROW(plan_memory(graph, one), std::logic_error);
}

TEST(Layout, TrainableFirstInReadyOrder) {
  Graph graph;
  graph.ready_order = {3, 0};
  const ParameterLayout layout = make_layout(graph, {5, 7, 11, 13}, {true, false, false, true});
  EXPECT_EQ(layout.order, (std::vector<std::int64_t>{3, 0, 1, 2}));
  EXPECT_EQ(layout.ranges[3].offset, 0);
  EXPECT_EQ(layout.ranges[0].offset, 13);
  EXPECT_EQ(layout.ranges[1].offset, 18);
  EXPECT_EQ(layout.ranges[2].offset, 25);
  EXPECT_EQ(layout.trainable_size, 18);
  EXPECT_EQ(layout.total_size, 36);
  EXPECT_THROW(make_layout(graph, {5, 7, 11, 13}, {true, true, false, true}), std::logic_error);
  EXPECT_THROW(make_layout(graph, {5, 7, 11, 13}, {false, false, false, true}), std::logic_error);
  EXPECT_THROW(make_layout(graph, {5, 7}, {true, false}), std::logic_error);
}

TEST(Layout, InferenceGraphsTakeTheLayoutOfTraining) {
  Graph training;
  training.ready_order = {0};
  GraphBuilder b(2);
  const ValueId w = b.parameter(0, {3, 3}, "w");
  b.set_output(b.add(OpKind::matmul, MatMulAttributes{}, {b.input({3}), w}, "dense"), true);
  EXPECT_EQ(gradients_ready(b.finish(), make_layout(training, {9}, {true})), std::vector<std::int64_t>(1, 0));
}

TEST(Layout, GradientsBecomeReadyAsAPrefix) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    Graph graph = random_graph(seed);
    run_passes(graph);
    std::int64_t parameters = 0;
    for (const Value& value : graph.values) parameters += value.role == Role::parameter;
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(parameters));
    std::vector<bool> trainable(sizes.size(), false);
    for (const Value& value : graph.values)
      if (value.role == Role::parameter)
        sizes[static_cast<std::size_t>(value.index)] = value.shape.elements();
    for (const std::int64_t index : graph.ready_order) trainable[static_cast<std::size_t>(index)] = true;
    const ParameterLayout layout = make_layout(graph, sizes, trainable);
    const std::vector<std::int64_t> ready = gradients_ready(graph, layout);
    ASSERT_EQ(ready.size(), graph.ops.size());
    EXPECT_EQ(ready.back(), layout.trainable_size);
    // What counts as ready after op i was written by an op up to i.
    for (const Value& value : graph.values) {
      if (value.role != Role::gradient) continue;
      const auto& range = layout.ranges[static_cast<std::size_t>(value.index)];
      for (std::size_t i = 0; i < ready.size(); ++i)
        if (ready[i] > range.offset) {
          EXPECT_LE(value.producer, static_cast<std::int32_t>(i));
        }
    }
  }
}

}  // namespace
}  // namespace stoker::graph::testing
