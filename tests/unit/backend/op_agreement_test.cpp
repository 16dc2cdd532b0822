// Every op, forward and backward, against the reference interpreter: with every instruction set of the
// machine, on 1 and 2 threads, at odd sizes, and at sizes that are divided among threads.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "lib/backend/cpu/parallel.h"
#include "tests/unit/backend/program_harness.h"

namespace stoker::backend::cpu::test {
namespace {

using namespace graph;

using Body = std::function<ValueId(GraphBuilder&, const std::vector<ValueId>& inputs)>;

// An op with its inputs as parameters, so that their gradients are those of the op.
struct Case {
  std::string name;
  std::vector<Shape> inputs;
  Body body;
};

Body one(OpKind kind, const Attributes& attributes) {
  return [=](GraphBuilder& b, const std::vector<ValueId>& x) { return b.add(kind, attributes, x, "op"); };
}

// The op, then an activation that a pass fuses into it.
Body fused(OpKind kind, const Attributes& attributes, const ActivationAttributes& activation) {
  return [=](GraphBuilder& b, const std::vector<ValueId>& x) {
    return b.add(OpKind::activation, activation, {b.add(kind, attributes, x, "op")}, "act");
  };
}

constexpr ActivationAttributes kRelu{ActivationKind::relu};

Conv2DAttributes convolution(std::int64_t stride, std::int64_t dilation, std::int64_t groups,
                             Padding2D padding) {
  Conv2DAttributes a;
  a.stride_h = a.stride_w = stride;
  a.dilation_h = a.dilation_w = dilation;
  a.groups = groups;
  a.padding = padding;
  return a;
}

void add_convolutions(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, const Shape& x, const Shape& w, const Conv2DAttributes& a) {
    cases.push_back({"conv2d " + name, {x, w, {w[3]}}, one(OpKind::conv2d, a)});
    cases.push_back({"conv2d without bias " + name, {x, w}, fused(OpKind::conv2d, a, kRelu)});
  };
  add("3x3", {5, 9, 7, 5}, {3, 3, 5, 7}, convolution(1, 1, 1, {1, 1, 1, 1}));
  add("one channel", {5, 12, 12, 1}, {3, 3, 1, 32}, convolution(1, 1, 1, {}));
  add("5x5 of one sample", {1, 12, 10, 6}, {5, 5, 6, 16}, convolution(1, 1, 1, {2, 2, 2, 2}));
  add("stride 2, asymmetric padding", {5, 10, 8, 16}, {3, 3, 16, 24}, convolution(2, 1, 1, {0, 1, 0, 1}));
  add("even kernel", {2, 7, 6, 3}, {4, 2, 3, 5}, convolution(1, 1, 1, {1, 2, 0, 1}));
  add("dilation", {2, 11, 9, 4}, {3, 3, 4, 6}, convolution(1, 2, 1, {2, 2, 2, 2}));
  add("groups", {5, 7, 6, 6}, {3, 3, 3, 10}, convolution(1, 1, 2, {1, 1, 1, 1}));
  add("depthwise", {5, 8, 7, 19}, {3, 3, 1, 19}, convolution(1, 1, 19, {1, 1, 1, 1}));
  add("depthwise stride 2", {2, 9, 8, 32}, {3, 3, 1, 32}, convolution(2, 1, 32, {0, 1, 0, 1}));
  add("depthwise multiplier 2", {2, 6, 6, 5}, {3, 3, 1, 10}, convolution(1, 1, 5, {}));
  add("depthwise of one channel", {2, 6, 6, 1}, {3, 3, 1, 4}, convolution(1, 1, 1, {}));
  add("1x1", {5, 6, 5, 7}, {1, 1, 7, 9}, convolution(1, 1, 1, {}));
  add("1x1 stride 2", {5, 7, 6, 7}, {1, 1, 7, 9}, convolution(2, 1, 1, {}));
  add("1x1 padded", {2, 4, 4, 3}, {1, 1, 3, 5}, convolution(1, 1, 1, {1, 0, 1, 0}));
  add("1x1 large", {5, 20, 20, 33}, {1, 1, 33, 20}, convolution(2, 1, 1, {}));
  cases.push_back({"conv2d gelu",
                   {{2, 5, 5, 3}, {3, 3, 3, 8}, {8}},
                   fused(OpKind::conv2d, Conv2DAttributes{}, {ActivationKind::gelu})});
}

void add_dense(std::vector<Case>& cases) {
  for (const std::int64_t n : {1, 5, 300})
    cases.push_back(
        {"matmul " + std::to_string(n), {{n, 37}, {37, 70}, {70}}, one(OpKind::matmul, MatMulAttributes{})});
  cases.push_back({"matmul relu", {{5, 8}, {8, 3}}, fused(OpKind::matmul, MatMulAttributes{}, kRelu)});
  cases.push_back({"matmul silu",
                   {{64, 20}, {20, 600}, {600}},
                   fused(OpKind::matmul, MatMulAttributes{}, {ActivationKind::silu})});
  cases.push_back({"matmul leaky relu",
                   {{5, 8}, {8, 3}},
                   fused(OpKind::matmul, MatMulAttributes{}, {ActivationKind::relu, 0.3f})});
}

void add_pools(std::vector<Case>& cases) {
  for (const bool is_max : {true, false}) {
    const std::string kind = is_max ? "max" : "average";
    const auto add = [&](const std::string& name, const Shape& x, Pool2DAttributes a) {
      a.is_max = is_max;
      cases.push_back({kind + " pool " + name, {x}, one(OpKind::pool2d, a)});
      cases.push_back(
          {kind + " pool of relu " + name, {x}, [=](GraphBuilder& b, const std::vector<ValueId>& in) {
             return b.add(OpKind::pool2d, a, {b.add(OpKind::activation, kRelu, in, "relu")}, "pool");
           }});
    };
    add("2x2", {5, 9, 7, 19}, {});
    add("2x2 large", {5, 26, 26, 32}, {});
    add("3x3 stride 2", {2, 9, 8, 7}, {true, 3, 3, 2, 2, {1, 0, 0, 1}});
    add("3x2 stride 1", {1, 6, 5, 33}, {true, 3, 2, 1, 1, {1, 1, 0, 1}});
    add("2x2 stride 3", {2, 8, 9, 4}, {true, 2, 2, 3, 3, {}});
    for (const Shape& shape : {Shape{5, 7, 6, 19}, Shape{1, 3, 3, 1}, Shape{4, 5, 8}, Shape{2, 40, 40, 16}})
      cases.push_back({"global " + kind + " pool " + stoker::to_string(shape),
                       {shape},
                       one(OpKind::global_pool, GlobalPoolAttributes{is_max})});
  }
}

// A convolution of few taps before a 2×2 max pool: one kernel forward, one backward where the convolution's
// input needs no gradient (a constant here). 16 and 48 channels end in half a block.
void add_conv_pool_pairs(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, const Shape& x, const Shape& w, const Conv2DAttributes& a,
                       bool relu, bool bias) {
    const Body tail = [=](GraphBuilder& b, const std::vector<ValueId>& in) {
      const ValueId y = b.add(OpKind::conv2d, a, in, "conv");
      return b.add(OpKind::pool2d, Pool2DAttributes{},
                   {relu ? b.add(OpKind::activation, kRelu, {y}, "relu") : y}, "pool");
    };
    std::vector<Shape> inputs = {w};
    if (bias) inputs.push_back({w[3]});
    cases.push_back({"first conv2d and pool " + name, inputs, [=](GraphBuilder& b, std::vector<ValueId> in) {
                       const ValueId data = b.constant(random_values(x.elements(), 5), "x");
                       in.insert(in.begin(),
                                 b.add_shaped(OpKind::reshape, NoAttributes{}, {data}, x, "image"));
                       return tail(b, in);
                     }});
    inputs.insert(inputs.begin(), x);
    cases.push_back({"conv2d and pool " + name, inputs, tail});
  };
  add("3x3x1", {5, 13, 12, 1}, {3, 3, 1, 32}, {}, true, true);
  add("5x5x1 linear", {1, 12, 12, 1}, {5, 5, 1, 16}, {}, false, true);
  add("3x3x3 padded", {5, 11, 10, 3}, {3, 3, 3, 48}, convolution(1, 1, 1, {1, 1, 1, 1}), true, true);
  add("3x3x2 without bias, asymmetric padding, stride 2", {2, 14, 13, 2}, {3, 3, 2, 64},
      convolution(2, 1, 1, {0, 1, 0, 1}), true, false);
  add("3x3x1 dilated", {2, 14, 13, 1}, {3, 3, 1, 16}, convolution(1, 2, 1, {2, 2, 2, 2}), true, true);
  add("3x3x1 large", {9, 28, 28, 1}, {3, 3, 1, 32}, {}, true, true);
}

void add_norms(std::vector<Case>& cases) {
  BatchNormAttributes a;
  for (const Shape& shape : {Shape{5, 4, 3, 19}, Shape{64, 32}, Shape{5, 30, 30, 17}, Shape{7, 3}})
    for (const bool relu : {false, true}) {
      const Shape c{shape.back()};
      const auto body = relu ? fused(OpKind::batch_norm, a, kRelu) : one(OpKind::batch_norm, a);
      cases.push_back({"batch_norm " + stoker::to_string(shape), {shape, c, c}, body});
      cases.push_back({"batch_norm alone " + stoker::to_string(shape), {shape}, body});
      cases.push_back({"batch_norm_inference " + stoker::to_string(shape),
                       {shape, c, c},
                       [=](GraphBuilder& b, const std::vector<ValueId>& x) {
                         const auto size = static_cast<std::size_t>(c[0]);
                         const ValueId mean = b.constant(random_values(c[0], 3), "mean");
                         const ValueId variance = b.constant(std::vector<float>(size, 0.7f), "variance");
                         const ValueId y =
                             b.add(OpKind::batch_norm_inference, a, {x[0], x[1], x[2], mean, variance}, "bn");
                         return relu ? b.add(OpKind::activation, kRelu, {y}, "relu") : y;
                       }});
    }
  cases.push_back({"batch_norm relu6",
                   {{5, 3, 3, 16}, {16}, {16}},
                   fused(OpKind::batch_norm, a, {ActivationKind::relu, 0.0f, 1.0f})});
}

void add_element_wise(std::vector<Case>& cases) {
  for (int kind = 1; kind <= static_cast<int>(ActivationKind::mish); ++kind) {
    ActivationAttributes a{static_cast<ActivationKind>(kind)};
    if (a.kind == ActivationKind::elu) a.alpha = 1.0f;
    for (const Shape& shape : {Shape{5, 37}, Shape{5, 60, 60, 2}})
      cases.push_back({"activation " + std::to_string(kind) + stoker::to_string(shape),
                       {shape},
                       one(OpKind::activation, a)});
  }
  for (const ActivationAttributes& a : {ActivationAttributes{ActivationKind::relu, 0.2f, 0.5f, 0.0f},
                                        ActivationAttributes{ActivationKind::relu, 0.1f, 0.9f, 0.25f},
                                        ActivationAttributes{ActivationKind::relu, 0.1f, 0.9f, -0.25f},
                                        ActivationAttributes{ActivationKind::relu, -0.5f}})
    cases.push_back({"relu of " + std::to_string(a.alpha), {{5, 37}}, one(OpKind::activation, a)});
  for (int kind = 0; kind <= static_cast<int>(BinaryKind::minimum); ++kind) {
    const BinaryAttributes a{static_cast<BinaryKind>(kind)};
    const std::vector<std::pair<Shape, Shape>> shapes = {{{5, 37}, {5, 37}},
                                                         {{5, 4, 3, 7}, {7}},
                                                         {{5, 4, 3, 7}, {5, 1, 1, 7}},
                                                         {{5, 1, 3, 1}, {4, 1, 7}},
                                                         {{5, 4, 3}, {1}},
                                                         {{2, 70, 70, 3}, {2, 70, 70, 3}},
                                                         {{300, 70}, {70}},
                                                         {{5, 60, 40, 2}, {5, 60, 1, 2}},
                                                         {{3, 1}, {1, 5}}};
    for (const auto& [x, y] : shapes)
      cases.push_back({"binary " + std::to_string(kind) + stoker::to_string(x) + stoker::to_string(y),
                       {x, y},
                       one(OpKind::binary, a)});
  }
  cases.push_back(
      {"add relu", {{5, 40, 40, 3}, {5, 40, 40, 3}}, fused(OpKind::binary, BinaryAttributes{}, kRelu)});
  cases.push_back({"scale", {{5, 37}}, one(OpKind::scale, ScaleAttributes{-1.5f})});
  for (const Shape& shape : {Shape{5, 37}, Shape{2, 50, 50, 9}}) {
    cases.push_back({"affine of columns", {shape}, [=](GraphBuilder& b, const std::vector<ValueId>& x) {
                       const std::int64_t c = shape.back();
                       return b.add(OpKind::affine, NoAttributes{},
                                    {x[0], b.constant(random_values(c, 1), "shift"),
                                     b.constant(random_values(c, 2), "scale"),
                                     b.constant(random_values(c, 3), "offset")},
                                    "affine");
                     }});
    cases.push_back({"affine of one", {shape}, [=](GraphBuilder& b, const std::vector<ValueId>& x) {
                       return b.add(
                           OpKind::affine, NoAttributes{},
                           {x[0], kNoValue, b.constant({0.5f}, "scale"), b.constant({-2.0f}, "offset")},
                           "affine");
                     }});
    cases.push_back({"softmax", {shape}, one(OpKind::softmax, NoAttributes{})});
    cases.push_back({"dropout", {shape}, one(OpKind::dropout, DropoutAttributes{0.3f, 4, 1})});
  }
}

void add_copies(std::vector<Case>& cases) {
  cases.push_back({"concat of channels",
                   {{5, 4, 3, 7}, {5, 4, 3, 2}, {5, 4, 3, 1}},
                   one(OpKind::concat, ConcatAttributes{3})});
  cases.push_back({"concat of rows", {{5, 4, 3, 2}, {5, 1, 3, 2}}, one(OpKind::concat, ConcatAttributes{1})});
  cases.push_back(
      {"concat large", {{5, 40, 40, 3}, {5, 40, 40, 9}}, one(OpKind::concat, ConcatAttributes{3})});
  cases.push_back({"slice", {{5, 4, 3, 7}}, one(OpKind::slice, SliceAttributes{{0, 1, 0, 2}, {5, 2, 3, 4}})});
  cases.push_back({"slice of rows", {{5, 4, 7}}, one(OpKind::slice, SliceAttributes{{0, 1, 0}, {5, 2, 7}})});
  cases.push_back({"pad2d", {{5, 4, 3, 7}}, one(OpKind::pad2d, Padding2D{1, 2, 0, 3})});
  cases.push_back({"pad2d large", {{5, 40, 40, 7}}, one(OpKind::pad2d, Padding2D{3, 3, 3, 3})});
  cases.push_back({"reshape", {{6, 4}}, [](GraphBuilder& b, const std::vector<ValueId>& x) {
                     return b.add(OpKind::scale, ScaleAttributes{2.0f},
                                  {b.add_shaped(OpKind::reshape, NoAttributes{}, {x[0]}, {3, 8}, "view")},
                                  "scale");
                   }});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  add_convolutions(cases);
  add_dense(cases);
  add_pools(cases);
  add_conv_pool_pairs(cases);
  add_norms(cases);
  add_element_wise(cases);
  add_copies(cases);
  return cases;
}

// A mean squared error over the case's result, and the gradients of all its inputs.
Graph training_graph(const Case& c) {
  GraphBuilder b(1);
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    inputs.push_back(b.parameter(static_cast<std::int64_t>(i), c.inputs[i], "p" + std::to_string(i)));
  const ValueId y = c.body(b, inputs);
  const ValueId flat = b.add_shaped(OpKind::reshape, NoAttributes{}, {y}, {1, b.shape(y).elements()}, "flat");
  b.add_loss({LossKind::mean_squared_error}, flat, b.target(b.shape(flat), DType::f32), true);
  Graph g = b.finish();
  differentiate(g, std::vector<bool>(c.inputs.size(), true));
  return g;
}

// Gradients that are large beside the rounding of the loss' mean.
constexpr float kSeed = 100.0f;

// Below this our kernels stay on one thread: a second one would test nothing.
constexpr std::int64_t kShared = 2 * kElementsPerThread;

void expect_agreement(const Graph& g, const Data& data, const Reference& reference) {
  const ParameterLayout layout = layout_of(g);
  for (const Setting& setting : all_settings()) {
    if (setting.threads > 1 && layout.total_size < kShared) continue;
    SCOPED_TRACE(to_string(setting));
    const Results results = Harness(g, layout, setting).run(data);
    expect_close(results, reference, layout, 1e-5);
  }
}

TEST(OpAgreement, EveryCase) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.name);
    Graph g = training_graph(c);
    const ParameterLayout layout = layout_of(g);
    Data data = random_data(g, layout, 2, 17);
    data.loss_seed = kSeed;
    const Reference reference = run_reference(g, layout, data);
    expect_agreement(g, data, reference);
    run_passes(g);
    SCOPED_TRACE("after the passes");
    expect_agreement(g, data, reference);
  }
}

TEST(OpAgreement, EveryKindIsInACase) {
  std::set<OpKind> seen;
  for (const Case& c : all_cases()) {
    const Graph g = training_graph(c);
    for (const Op& op : g.ops) seen.insert(op.kind);
  }
  for (int kind = 0; kind < static_cast<int>(OpKind::count_); ++kind) {
    const auto k = static_cast<OpKind>(kind);
    if (k == OpKind::metric || k == OpKind::fill) continue;  // losses_agreement_test.cpp
    EXPECT_TRUE(seen.contains(k)) << name_of(k);
  }
}

}  // namespace
}  // namespace stoker::backend::cpu::test
