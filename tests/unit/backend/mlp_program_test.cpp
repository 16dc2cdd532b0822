// A two-layer perceptron, forward and backward, against the formulas written out in double.
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "lib/backend/cpu/cpu_backend.h"
#include "lib/base/error.h"
#include "tests/unit/backend/program_harness.h"

namespace stoker::backend::cpu::test {
namespace {

constexpr std::int64_t kIn = 19, kHidden = 33, kClasses = 7;

graph::Graph mlp(std::int64_t n, bool training) {
  using namespace graph;
  GraphBuilder b(n);
  const ValueId x = b.input({kIn});
  const ValueId w0 = b.parameter(0, {kIn, kHidden}, "w0"), b0 = b.parameter(1, {kHidden}, "b0");
  const ValueId sum = b.add(OpKind::matmul, MatMulAttributes{}, {x, w0, b0}, "hidden");
  const ValueId h =
      b.add(OpKind::activation, ActivationAttributes{ActivationKind::relu}, {sum}, "hidden/relu");
  const ValueId z =
      b.add(OpKind::matmul, MatMulAttributes{},
            {h, b.parameter(2, {kHidden, kClasses}, "w1"), b.parameter(3, {kClasses}, "b1")}, "logits");
  const ValueId p = b.add(OpKind::softmax, NoAttributes{}, {z}, "softmax");
  const ValueId target = b.target({n}, DType::i32);
  b.add_loss({LossKind::sparse_categorical_crossentropy}, p, target, training);
  b.add_metric({MetricKind::sparse_categorical_accuracy}, p, target, "accuracy");
  b.set_output(p, true);
  Graph g = b.finish();
  if (training) differentiate(g, std::vector<bool>(4, true));
  run_passes(g);
  return g;
}

using Matrix = std::vector<double>;

// Everything the program gives, in double; gradients by parameter.
struct Reference {
  Matrix probabilities, gradients[4];
  double loss = 0, correct = 0;
};

Reference reference(const Data& data, const graph::ParameterLayout& layout, std::int64_t n) {
  const auto parameter = [&](std::size_t k, std::int64_t i) {
    return static_cast<double>(data.parameters[static_cast<std::size_t>(layout.ranges[k].offset + i)]);
  };
  Reference r;
  r.gradients[0].resize(kIn * kHidden);
  r.gradients[1].resize(kHidden);
  r.gradients[2].resize(kHidden * kClasses);
  r.gradients[3].resize(kClasses);
  for (std::int64_t s = 0; s < n; ++s) {
    const float* x = data.input.data() + s * kIn;
    Matrix h(kHidden), z(kClasses), dh(kHidden);
    for (std::int64_t j = 0; j < kHidden; ++j) {
      h[j] = parameter(1, j);
      for (std::int64_t i = 0; i < kIn; ++i)
        h[j] += static_cast<double>(x[i]) * parameter(0, i * kHidden + j);
      h[j] = std::max(h[j], 0.0);
    }
    double sum = 0;
    for (std::int64_t c = 0; c < kClasses; ++c) {
      z[c] = parameter(3, c);
      for (std::int64_t j = 0; j < kHidden; ++j) z[c] += h[j] * parameter(2, j * kClasses + c);
      sum += std::exp(z[c]);
    }
    const std::int64_t label = data.labels[static_cast<std::size_t>(s)];
    r.loss += std::log(sum) - z[label];
    r.correct += std::max_element(z.begin(), z.end()) - z.begin() == label;
    for (std::int64_t c = 0; c < kClasses; ++c) {
      const double p = std::exp(z[c]) / sum;
      const double d = (p - (c == label ? 1.0 : 0.0)) * static_cast<double>(data.loss_seed);
      r.probabilities.push_back(p);
      r.gradients[3][c] += d;
      for (std::int64_t j = 0; j < kHidden; ++j) {
        r.gradients[2][j * kClasses + c] += d * h[j];
        dh[j] += d * parameter(2, j * kClasses + c);
      }
    }
    for (std::int64_t j = 0; j < kHidden; ++j) {
      if (h[j] <= 0.0) continue;
      r.gradients[1][j] += dh[j];
      for (std::int64_t i = 0; i < kIn; ++i)
        r.gradients[0][i * kHidden + j] += dh[j] * static_cast<double>(x[i]);
    }
  }
  return r;
}

std::vector<float> to_float(const Matrix& m) { return {m.begin(), m.end()}; }

TEST(MlpProgram, AgreesWithTheFormulas) {
  for (const Setting& setting : all_settings())
    for (const std::int64_t n : {1, 5, 64}) {
      SCOPED_TRACE(to_string(setting) + ", n = " + std::to_string(n));
      const graph::Graph g = mlp(n, true);
      const graph::ParameterLayout layout = layout_of(g);
      const Data data = random_data(g, layout, kClasses, 11);
      const Reference r = reference(data, layout, n);
      const Results results = Harness(g, layout, setting).run(data);
      EXPECT_LT(largest_difference(results.output, to_float(r.probabilities)), 1e-5);
      for (std::size_t k = 0; k < 4; ++k) {
        const auto first = results.gradients.begin() + layout.ranges[k].offset;
        EXPECT_LT(largest_difference({first, first + layout.ranges[k].size}, to_float(r.gradients[k])), 1e-5)
            << "parameter " << k;
      }
      ASSERT_EQ(results.statistics.size(), 2u);
      EXPECT_NEAR(results.statistics[0], r.loss, 1e-5 * r.loss);
      EXPECT_EQ(results.statistics[1], r.correct);
    }
}

TEST(MlpProgram, TheSameBitsEveryTime) {
  const graph::Graph g = mlp(64, true);
  const graph::ParameterLayout layout = layout_of(g);
  const Data data = random_data(g, layout, kClasses, 5);
  for (const Setting& setting : all_settings()) {
    Harness one(g, layout, setting), other(g, layout, setting);
    const Results a = one.run(data), b = other.run(data), c = one.run(data);
    EXPECT_EQ(a.gradients, b.gradients);
    EXPECT_EQ(a.gradients, c.gradients);
    EXPECT_EQ(a.output, c.output);
  }
}

TEST(MlpProgram, ReportsGradientsAsTheyBecomeReady) {
  const graph::Graph g = mlp(5, true);
  const graph::ParameterLayout layout = layout_of(g);
  const Data data = random_data(g, layout, kClasses, 5);
  const Setting setting{1, available_functions().front()};
  const Results results = Harness(g, layout, setting).run(data);
  Harness harness(g, layout, setting);
  const StepArguments a = harness.arguments(data);
  std::vector<std::int64_t> points;
  harness.program().run_forward(a);
  harness.program().run_backward(a, [&](std::int64_t ready) {
    points.push_back(ready);
    const std::vector<float> now(a.gradients, a.gradients + ready);
    EXPECT_EQ(now, std::vector<float>(results.gradients.begin(), results.gradients.begin() + ready));
  });
  ASSERT_GE(points.size(), 2u);
  EXPECT_TRUE(std::is_sorted(points.begin(), points.end()));
  EXPECT_EQ(points.back(), layout.trainable_size);
}

TEST(MlpProgram, NamesTheFirstOpThatIsNotFinite) {
  const graph::Graph g = mlp(5, true);
  const graph::ParameterLayout layout = layout_of(g);
  Data data = random_data(g, layout, kClasses, 5);
  Harness harness(g, layout, {1, available_functions().front()});
  EXPECT_EQ(harness.program().find_non_finite(harness.arguments(data)), std::nullopt);
  data.parameters[static_cast<std::size_t>(layout.ranges[3].offset)] = std::nanf("");
  const auto found = harness.program().find_non_finite(harness.arguments(data));
  ASSERT_TRUE(found.has_value());
  EXPECT_NE(found->find("logits"), std::string::npos) << *found;
}

TEST(MlpProgram, ALabelOutOfRangeMakesTheLossNaN) {
  const graph::Graph g = mlp(5, true);
  const graph::ParameterLayout layout = layout_of(g);
  Data data = random_data(g, layout, kClasses, 5);
  for (const std::int32_t label : {-1, 7, 255, 2147483647}) {
    data.labels[2] = label;
    const Results results = Harness(g, layout, {1, available_functions().front()}).run(data);
    EXPECT_TRUE(std::isnan(results.statistics[0])) << label;
  }
}

TEST(MlpProgram, LogitsOfThousandsStayFinite) {
  const graph::Graph g = mlp(5, true);
  const graph::ParameterLayout layout = layout_of(g);
  Data data = random_data(g, layout, kClasses, 5);
  for (float& x : data.parameters) x *= 300.0f;
  for (const Setting& setting : all_settings()) {
    const Results results = Harness(g, layout, setting).run(data);
    EXPECT_TRUE(std::isfinite(results.statistics[0]));
    for (std::size_t row = 0; row < 5; ++row) {
      float sum = 0;
      for (std::size_t c = 0; c < kClasses; ++c) sum += results.output[row * kClasses + c];
      EXPECT_NEAR(sum, 1.0f, 1e-6f);
    }
    for (const float gradient : results.gradients) EXPECT_TRUE(std::isfinite(gradient));
  }
}

// The limit is read when the process starts, so the test starts itself again.
TEST(CpuBackend, MoreThreadsThanTheLimitIsTheUsersError) {
  if (std::getenv("OMP_THREAD_LIMIT") == nullptr) {
    const std::string self = "/proc/" + std::to_string(getpid()) + "/exe";
    const std::string command =
        "OMP_THREAD_LIMIT=1 " + self + " --gtest_filter=CpuBackend.MoreThreads* > /dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return;
  }
  EXPECT_NO_THROW(make_cpu_backend(omp_get_thread_limit()));
  try {
    make_cpu_backend(omp_get_thread_limit() + 1);
    FAIL() << "no error";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("OMP_THREAD_LIMIT"), std::string::npos) << e.what();
  }
}

TEST(CpuBackend, AddsAndCopies) {
  const auto backend = make_cpu_backend(2);
  constexpr std::int64_t kCount = 100003;
  const std::vector<float> a = random_values(kCount, 1), b = random_values(kCount, 2);
  const auto memory = backend->allocate(kCount * sizeof(float));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 64, 0u);
  auto* sum = reinterpret_cast<float*>(memory->data());
  backend->copy_to_device(sum, a.data(), kCount * sizeof(float));
  backend->add(sum, b.data(), kCount);
  std::vector<float> result(kCount);
  backend->copy_to_host(result.data(), sum, kCount * sizeof(float));
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(result[i], a[i] + b[i]);
}

}  // namespace
}  // namespace stoker::backend::cpu::test
