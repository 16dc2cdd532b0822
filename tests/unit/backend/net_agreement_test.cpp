// Whole networks after all passes: against the reference interpreter, without slow paths of oneDNN, with the
// same bits on every run.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/backend/program_harness.h"
#include "tests/unit/backend/small_nets.h"

namespace stoker::backend::cpu::test {
namespace {

// Weights as small as an initialiser's, so that the activations stay in a sensible range.
Data net_data(const graph::Graph& g, const graph::ParameterLayout& layout, const Net& net) {
  Data data = random_data(g, layout, net.classes, 23);
  for (float& w : data.parameters) w *= 0.2f;
  return data;
}

TEST(NetAgreement, TrainingStepsAgreeWithTheReference) {
  for (const Net& net : small_nets())
    for (const std::int64_t n : {1, 5}) {
      const graph::Graph g = build(net, n, true);
      const graph::ParameterLayout layout = layout_of(g);
      const Data data = net_data(g, layout, net);
      const Reference reference = run_reference(g, layout, data);
      for (const Setting& setting : all_settings()) {
        SCOPED_TRACE(net.name + ", n = " + std::to_string(n) + ", " + to_string(setting));
        expect_close(Harness(g, layout, setting).run(data), reference, layout, 2e-5);
      }
    }
}

TEST(NetAgreement, InferenceAgreesWithTheReference) {
  for (const Net& net : small_nets()) {
    const graph::Graph g = build(net, 5, false);
    const graph::ParameterLayout layout = layout_of(g);
    const Data data = net_data(g, layout, net);
    const Reference reference = run_reference(g, layout, data);
    for (const Setting& setting : all_settings()) {
      SCOPED_TRACE(net.name + ", " + to_string(setting));
      const Results results = Harness(g, layout, setting).run(data);
      ASSERT_EQ(results.output.size(), static_cast<std::size_t>(5 * net.classes));
      expect_close(results, reference, layout, 1e-5);
    }
  }
}

TEST(NetAgreement, TheSameBitsEveryTime) {
  for (const Net& net : small_nets()) {
    SCOPED_TRACE(net.name);
    const graph::Graph g = build(net, 32, true);
    const graph::ParameterLayout layout = layout_of(g);
    const Data data = net_data(g, layout, net);
    const Setting setting = all_settings().back();
    Harness one(g, layout, setting), other(g, layout, setting);
    const Results a = one.run(data), b = other.run(data), c = one.run(data);
    EXPECT_EQ(a.gradients, b.gradients);
    EXPECT_EQ(a.gradients, c.gradients);
    EXPECT_EQ(a.statistics, c.statistics);
  }
}

// The dropout mask, the pooling and all of our own sums may not depend on the threads; what oneDNN splits by
// thread may.
TEST(NetAgreement, ForwardBitsDoNotDependOnThreads) {
  for (const Net& net : small_nets()) {
    SCOPED_TRACE(net.name);
    const graph::Graph g = build(net, 32, true);
    const graph::ParameterLayout layout = layout_of(g);
    const Data data = net_data(g, layout, net);
    const Functions* best = available_functions().front();
    const Results a = Harness(g, layout, {1, best}).run(data), b = Harness(g, layout, {2, best}).run(data);
    EXPECT_EQ(a.statistics, b.statistics);
  }
}

// A ReLU or a maximum that turned NaN into a number would hide where a training goes wrong.
TEST(NetAgreement, OneWeightThatIsNaNMakesTheLossNaN) {
  for (const Net& net : small_nets()) {
    const graph::Graph g = build(net, 5, true);
    const graph::ParameterLayout layout = layout_of(g);
    for (const Functions* functions : available_functions()) {
      const Setting setting{1, functions};
      Harness harness(g, layout, setting);
      for (std::size_t k = 0; k < layout.ranges.size(); ++k) {
        Data data = net_data(g, layout, net);
        const auto& range = layout.ranges[k];
        data.parameters[static_cast<std::size_t>(range.offset + range.size / 2)] = std::nanf("");
        EXPECT_TRUE(std::isnan(harness.run(data).statistics[0]))
            << net.name << ", parameter " << k << ", " << to_string(setting);
      }
    }
  }
}

TEST(NetAgreement, TheFirstConvolutionRunsWithItsPool) {
  const Net& net = small_nets()[2];
  const graph::Graph g = build(net, 5, true);
  const graph::ParameterLayout layout = layout_of(g);
  Harness harness(g, layout, all_settings().front());
  std::vector<std::string> pairs;
  for (const OpTime& time : harness.program().profile(harness.arguments(net_data(g, layout, net))))
    if (time.op.find(" + ") != std::string::npos) pairs.push_back(time.op);
  EXPECT_EQ(pairs, (std::vector<std::string>{"conv2d conv0 + pool2d pool2",
                                             "pool2d_grad pool2 + conv2d_grad_weights conv0"}));
}

TEST(NetAgreement, NoReferenceImplementationOfOneDnn) {
  for (const Net& net : small_nets())
    for (const std::int64_t n : {1, 5, 64}) {
      const graph::Graph g = build(net, n, true);
      const graph::ParameterLayout layout = layout_of(g);
      Harness harness(g, layout, all_settings().front());
      const Data data = net_data(g, layout, net);
      for (const OpTime& time : harness.program().profile(harness.arguments(data)))
        EXPECT_EQ(time.implementation.find("ref"), std::string::npos)
            << net.name << ", n = " << n << ": " << time.op << " runs " << time.implementation;
    }
}

}  // namespace
}  // namespace stoker::backend::cpu::test
