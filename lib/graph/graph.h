// The static graph of one microbatch size: values and operations in execution order.
//
// A graph is built forward by GraphBuilder (lib/keras expands layers into it), gets its loss and metrics, its
// gradients (differentiate), and passes (run_passes); then a backend compiles it into a Program. It is a
// value type: copying it copies everything. Every value has one producer and comes before its readers. Values
// that a pass left without producer and readers stay in the list. Not thread-safe while being changed.
//
// Mistakes of the calling code throw std::logic_error, naming the layer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/graph/op.h"
#include "lib/tensor/shape.h"

namespace stoker::graph {

using ValueId = std::int32_t;
inline constexpr ValueId kNoValue = -1;

// Where the memory of a value is.
enum class Role : std::uint8_t {
  input,       // StepArguments::input, fp32 [n, …]
  target,      // StepArguments::target: int32 labels [n], or fp32 [n, …]
  parameter,   // parameter `index`: a range of the flat parameter buffer, Keras layout, not padded
  gradient,    // ∂/∂ parameter `index`: the same range of the flat gradient buffer
  statistic,   // fp32 range of the tail (StepArguments::statistics) at `index`; summed over leaves
  output,      // StepArguments::output, fp32
  constant,    // Graph::constants[index]
  activation,  // the arena
};

struct Value {
  std::string name;
  Shape shape;
  DType dtype = DType::f32;
  Role role = Role::activation;
  std::int64_t index = -1;     // see Role
  std::int32_t producer = -1;  // index of the op, −1 for inputs, parameters, constants
};

struct Op {
  OpKind kind = OpKind::reshape;
  Attributes attributes;
  std::vector<ValueId> inputs, outputs;  // kNoValue where an optional one is absent
  std::string name;                      // path of the layer, for messages ("block1/conv")
};

// A named range of the tail. After the step's sum over all leaves the trainer reads it by name.
struct Statistic {
  std::string name;  // "loss", "metric/accuracy", "batch_norm/<parameter index of the moving mean>", …
  std::int64_t offset = 0, size = 0;
};

// The moving statistics of one BatchNormalization call: after the reduction, moving ← momentum·moving +
// (1−momentum)·sum/weight.
struct MovingStatistic {
  std::int64_t parameter;  // index of the moving mean or variance among the parameters
  std::int64_t offset;     // in the tail: Σ over leaves of n_leaf·statistic, `size` floats
  std::int64_t size;
  float momentum;
};

struct Graph {
  std::int64_t batch = 0;  // n; all shapes hold it
  std::vector<Value> values;
  std::vector<Op> ops;  // execution order
  std::vector<std::vector<float>> constants;
  std::vector<Statistic> statistics;
  std::vector<MovingStatistic> moving_statistics;
  std::int64_t statistics_size = 0;  // floats
  std::size_t forward_ops = 0;       // ops[0, forward_ops) are forward, loss and metrics; the rest backward
  ValueId prediction = kNoValue;     // the model's output; kNoValue where nothing needs it (remove_dead_ops)
  // Parameter indices as their gradients become ready (after differentiate).
  std::vector<std::int64_t> ready_order;
};

// The value whose memory `id` is a view of (through any number of reshapes), or `id` itself. Its role says
// where the memory is; it has as many elements, but may have another shape.
ValueId memory_root(const Graph& graph, ValueId id);

// By value: the indices of the ops that read it, rising.
std::vector<std::vector<std::size_t>> readers_of(const Graph& graph);

// What one op costs at its shapes.
struct Cost {
  double flops = 0;  // a multiply-add counts 2
  double bytes = 0;  // read and written once
};
Cost cost_of(const Graph& graph, const Op& op);  // reshape: nothing

// Appends ops and values; checks shapes, so a mistake shows where it is made. Throws std::logic_error on a
// mistake of the caller (layers check the user's shapes before).
//
// An op that does nothing is not added, its input is returned: a linear activation, a dropout of rate 0.
class GraphBuilder {
 public:
  explicit GraphBuilder(std::int64_t batch);

  ValueId input(const Shape& shape_without_batch);
  ValueId target(const Shape& shape_with_batch, DType dtype);
  ValueId parameter(std::int64_t index, const Shape& shape,
                    const std::string& name);                          // the same value for the same index
  ValueId constant(std::vector<float> data, const std::string& name);  // shape (size)

  // Adds an op with only its first output, and returns that; name is the layer's path. differentiate adds the
  // outputs that a gradient needs (argmax of a max pool, mean and variance of batch_norm).
  ValueId add(OpKind kind, Attributes attributes, std::vector<ValueId> inputs, const std::string& name);
  // The same for ops with `outputs` outputs, in the order of op.h.
  std::vector<ValueId> add_many(OpKind kind, Attributes attributes, std::vector<ValueId> inputs,
                                std::size_t outputs, const std::string& name);
  // Ops whose output shape is not determined by their inputs: reshape, reduce_to_shape, fill, gradients of
  // convolutions and pools. A reshape is added even to the same shape (add_loss does not look behind it).
  ValueId add_shaped(OpKind kind, Attributes attributes, std::vector<ValueId> inputs, const Shape& shape,
                     const std::string& name);

  // Adds a scale op that writes factor·x into the tail, as the statistic `name` (new, of x's elements).
  void add_statistic(ValueId x, float factor, const std::string& name);
  // Registers value `x`·n as the contribution to moving statistic `parameter` (add_statistic). A name that is
  // taken (a shared layer's second call) gets "#2", "#3", …: the entries apply in their order.
  void moving_statistic(ValueId x, std::int64_t parameter, float momentum, const std::string& name);

  // Adds the loss (and its gradient output if `training`) over target; the sum goes to statistic "loss".
  // Where the prediction of a cross-entropy comes out of a softmax or a sigmoid, its logits are used,
  // whatever loss.from_logits says, as Keras does (also binary behind softmax, categorical behind sigmoid).
  // Returns d_prediction (of the logits, then) or kNoValue.
  ValueId add_loss(const LossAttributes& loss, ValueId prediction, ValueId target, bool training);
  // `prediction` is the model's output, after its softmax. The sum goes to statistic "metric/NAME".
  void add_metric(const MetricAttributes& metric, ValueId prediction, ValueId target,
                  const std::string& name);

  // Names the model's output; with bind_to_output its memory (memory_root) becomes Role::output, by a copy if
  // it must.
  void set_output(ValueId prediction, bool bind_to_output);

  const Value& value(ValueId id) const { return graph_.values[static_cast<std::size_t>(id)]; }
  const Shape& shape(ValueId id) const { return value(id).shape; }
  std::int64_t batch() const { return graph_.batch; }
  Graph finish();

 private:
  Graph graph_;
};

// Appends the backward ops of a graph with a training loss, before any pass. `trainable[k]`: whether
// parameter k gets a gradient; nothing is computed for the rest, nor for the input. Values used more than
// once have their gradients added. Sets ready_order, which depends on the order of the forward ops only; the
// gradient of a shared parameter is ready after its first use in the forward order. Every trainable parameter
// must have a value (GraphBuilder::parameter); where the loss does not depend on it, its gradient is filled
// with zero. The memory of a gradient (Role::gradient) is read by no op.
void differentiate(Graph& graph, const std::vector<bool>& trainable);

// The passes. Each leaves the results the same but for rounding; tests check each against the graph without
// it.
//
// A pad2d before a conv2d becomes part of its padding, in its gradients too.
void fuse_padding(Graph& graph);
// In a graph without gradients: a batch_norm_inference that alone reads the output of a conv2d or matmul goes
// into its kernel and bias, where the kernel is smaller than the output.
void fold_batch_norm(Graph& graph);
// An activation that alone reads the output of a conv2d, matmul, batch_norm(_inference) or binary goes into
// it; the gradient of a ReLU into a batch_norm_grad that alone reads it.
void fuse_activations(Graph& graph);
// The gradient of a ReLU before a max pool goes into pool2d_grad.
void fuse_pool_gradients(Graph& graph);
// Removes what neither a gradient, nor a statistic, nor a bound output depends on, and optional outputs that
// nothing reads. A prediction that is not bound to the output counts as not needed.
void remove_dead_ops(Graph& graph);
// All of them, in the order that suits.
void run_passes(Graph& graph);

// Ranges of the parameters in the flat buffers: trainable ones first, in ready_order, then the others by
// index. No padding: offsets count floats.
struct ParameterLayout {
  struct Range {
    std::int64_t offset = 0, size = 0;
    bool trainable = false;
  };
  std::vector<Range> ranges;        // by parameter index
  std::vector<std::int64_t> order;  // parameter indices by offset
  std::int64_t trainable_size = 0, total_size = 0;
};
// `sizes[k]` floats of parameter k. The graph of any batch size gives the same layout.
ParameterLayout make_layout(const Graph& training_graph, const std::vector<std::int64_t>& sizes,
                            const std::vector<bool>& trainable);

// By op: how many floats at the start of the flat gradient buffer have their final values once it has run;
// zeros for a graph without gradients.
std::vector<std::int64_t> gradients_ready(const Graph& graph, const ParameterLayout& layout);

// Offsets of all activations, and of each op's scratch, in one arena: liveness, then best fit by decreasing
// size. Views (reshape) share the memory of their source. The first output of an activation, activation_grad,
// binary (of equal shapes), scale, affine or dropout may have the address of an input that nothing reads
// afterwards; apart from that no two values that live at one time overlap each other or the op's scratch.
// The same graph gives the same plan. Offsets are multiples of 64.
struct MemoryPlan {
  // Bytes, by value; −1 for values that are not in the arena (views of such: see memory_root).
  std::vector<std::int64_t> value_offset;
  std::vector<std::int64_t> scratch_offset;  // by op; −1 where it needs none
  std::int64_t arena_bytes = 0;              // a multiple of 64
};
// scratch_bytes: by op, or empty for none.
MemoryPlan plan_memory(const Graph& graph, std::span<const std::size_t> scratch_bytes);

std::string name_of(OpKind kind);
// A listing for people and for tests: an op a line with its values and shapes.
std::string to_string(const Graph& graph);

}  // namespace stoker::graph
