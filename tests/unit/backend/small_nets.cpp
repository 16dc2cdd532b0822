#include "tests/unit/backend/small_nets.h"

namespace stoker::backend::cpu::test {
namespace {

using namespace graph;

constexpr ActivationAttributes kRelu{ActivationKind::relu};

// Adds layers to one graph; every layer names itself.
class Layers {
 public:
  Layers(GraphBuilder& builder, std::int64_t& parameters) : b(builder), parameters_(parameters) {}

  ValueId parameter(const Shape& shape) {
    const std::int64_t index = parameters_++;
    return b.parameter(index, shape, "p" + std::to_string(index));
  }
  ValueId convolution(ValueId x, std::int64_t size, std::int64_t out, std::int64_t stride, bool bias,
                      std::int64_t groups = 1) {
    Conv2DAttributes a;
    a.stride_h = a.stride_w = stride;
    a.groups = groups;
    if (size == 3 && stride == 1) a.padding = {1, 1, 1, 1};
    if (size == 3 && stride == 2) a.padding = {0, 1, 0, 1};
    if (size == 7) a.padding = {2, 3, 2, 3};
    const std::int64_t in = b.shape(x)[3] / groups;
    std::vector<ValueId> inputs = {x, parameter({size, size, in, out})};
    if (bias) inputs.push_back(parameter({out}));
    return b.add(OpKind::conv2d, a, inputs, name("conv"));
  }
  ValueId valid_convolution(ValueId x, std::int64_t size, std::int64_t out) {
    return b.add(OpKind::conv2d, Conv2DAttributes{},
                 {x, parameter({size, size, b.shape(x)[3], out}), parameter({out})}, name("conv"));
  }
  ValueId batch_norm(ValueId x) {
    const std::int64_t c = b.shape(x).back();
    return b.add(OpKind::batch_norm, BatchNormAttributes{}, {x, parameter({c}), parameter({c})}, name("bn"));
  }
  ValueId activation(ValueId x, const ActivationAttributes& a = kRelu) {
    return b.add(OpKind::activation, a, {x}, name("act"));
  }
  ValueId max_pool(ValueId x) { return b.add(OpKind::pool2d, Pool2DAttributes{}, {x}, name("pool")); }
  ValueId dense(ValueId x, std::int64_t out) {
    return b.add(OpKind::matmul, MatMulAttributes{}, {x, parameter({b.shape(x)[1], out}), parameter({out})},
                 name("dense"));
  }
  ValueId flatten(ValueId x) {
    const Shape& s = b.shape(x);
    return b.add_shaped(OpKind::reshape, NoAttributes{}, {x}, {s[0], s.elements() / s[0]}, name("flatten"));
  }
  ValueId dropout(ValueId x, float rate, bool training) {
    return training ? b.add(OpKind::dropout, DropoutAttributes{rate, static_cast<std::uint32_t>(count_)}, {x},
                            name("dropout"))
                    : x;
  }
  ValueId add(ValueId x, ValueId y) {
    return b.add(OpKind::binary, BinaryAttributes{BinaryKind::add}, {x, y}, name("add"));
  }
  ValueId global_average(ValueId x) {
    return b.add(OpKind::global_pool, GlobalPoolAttributes{false}, {x}, name("pool"));
  }

  GraphBuilder& b;

 private:
  std::string name(const char* kind) { return kind + std::to_string(count_++); }
  std::int64_t& parameters_;
  std::int64_t count_ = 0;
};

ValueId mlp(GraphBuilder& b, std::int64_t& parameters, bool training) {
  Layers l(b, parameters);
  ValueId x = l.dropout(l.activation(l.dense(b.input({64}), 50)), 0.2f, training);
  return l.dense(l.activation(l.dense(x, 30), {ActivationKind::tanh}), 10);
}

ValueId lenet5(GraphBuilder& b, std::int64_t& parameters, bool) {
  Layers l(b, parameters);
  const ActivationAttributes tanh{ActivationKind::tanh};
  Pool2DAttributes average;
  average.is_max = false;
  const auto pool = [&](ValueId x) { return b.add(OpKind::pool2d, average, {x}, "average_pool"); };
  ValueId x = pool(l.activation(l.valid_convolution(b.input({28, 28, 1}), 5, 6), tanh));
  x = l.flatten(pool(l.activation(l.valid_convolution(x, 5, 16), tanh)));
  return l.dense(l.activation(l.dense(l.activation(l.dense(x, 120), tanh), 84), tanh), 10);
}

ValueId convnet(GraphBuilder& b, std::int64_t& parameters, bool training) {
  Layers l(b, parameters);
  ValueId x = l.max_pool(l.activation(l.valid_convolution(b.input({28, 28, 1}), 3, 32)));
  x = l.max_pool(l.activation(l.valid_convolution(x, 3, 64)));
  x = l.activation(l.dense(l.flatten(x), 128));
  return l.dense(l.dropout(x, 0.5f, training), 10);
}

ValueId residual_block(Layers& l, ValueId x, std::int64_t out, std::int64_t stride) {
  ValueId y = l.activation(l.batch_norm(l.convolution(x, 3, out, stride, false)));
  y = l.batch_norm(l.convolution(y, 3, out, 1, false));
  if (stride != 1) x = l.batch_norm(l.convolution(x, 1, out, stride, false));
  return l.activation(l.add(y, x));
}

ValueId residual(GraphBuilder& b, std::int64_t& parameters, bool) {
  Layers l(b, parameters);
  ValueId x = l.activation(l.batch_norm(l.convolution(b.input({16, 16, 3}), 3, 16, 1, false)));
  x = residual_block(l, residual_block(l, x, 16, 1), 32, 2);
  return l.dense(l.global_average(x), 10);
}

ValueId depthwise(GraphBuilder& b, std::int64_t& parameters, bool) {
  Layers l(b, parameters);
  const ActivationAttributes relu6{ActivationKind::relu, 0.0f, 6.0f};
  const ValueId x = l.activation(l.batch_norm(l.convolution(b.input({12, 12, 3}), 3, 8, 2, false)), relu6);
  const ValueId wide = l.activation(l.batch_norm(l.convolution(x, 1, 24, 1, false)), relu6);
  ValueId y = l.activation(l.batch_norm(l.convolution(wide, 3, 24, 1, false, 24)), relu6);
  y = l.add(x, l.batch_norm(l.convolution(y, 1, 8, 1, false)));
  const ValueId z = l.convolution(x, 3, 8, 1, true, 4);
  const ValueId both = b.add(OpKind::concat, ConcatAttributes{3}, {y, z}, "concat");
  return l.dense(b.add(OpKind::global_pool, GlobalPoolAttributes{true}, {both}, "global_max"), 5);
}

}  // namespace

const std::vector<Net>& small_nets() {
  static const std::vector<Net> kNets = {{"mlp", 10, mlp},
                                         {"lenet5", 10, lenet5},
                                         {"convnet", 10, convnet},
                                         {"residual", 10, residual},
                                         {"depthwise", 5, depthwise}};
  return kNets;
}

Graph build(const Net& net, std::int64_t n, bool training) {
  GraphBuilder b(n);
  std::int64_t parameters = 0;
  const ValueId logits = net.build(b, parameters, training);
  const ValueId probabilities = b.add(OpKind::softmax, NoAttributes{}, {logits}, "softmax");
  const ValueId target = b.target({n}, DType::i32);
  b.add_loss({LossKind::sparse_categorical_crossentropy}, probabilities, target, training);
  b.add_metric({MetricKind::sparse_categorical_accuracy}, probabilities, target, "accuracy");
  b.set_output(probabilities, !training);
  Graph g = b.finish();
  if (training) differentiate(g, std::vector<bool>(static_cast<std::size_t>(parameters), true));
  run_passes(g);
  return g;
}

}  // namespace stoker::backend::cpu::test
