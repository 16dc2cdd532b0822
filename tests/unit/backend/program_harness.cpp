#include "tests/unit/backend/program_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lib/base/philox.h"

namespace stoker::backend::cpu::test {
namespace {

const graph::Value* find_role(const graph::Graph& graph, graph::Role role) {
  for (const graph::Value& value : graph.values)
    if (value.role == role) return &value;
  return nullptr;
}

HostBuffer buffer_of(std::int64_t floats) {
  return HostBuffer(static_cast<std::size_t>(std::max<std::int64_t>(floats, 1)) * sizeof(float));
}

std::int64_t elements_of_role(const graph::Graph& graph, graph::Role role) {
  const graph::Value* value = find_role(graph, role);
  return value == nullptr ? 0 : value->shape.elements();
}

}  // namespace

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const Functions* functions : available_functions()) settings.push_back({1, functions});
  settings.push_back({2, available_functions().front()});
  return settings;
}

std::string to_string(const Setting& setting) {
  return std::string(setting.functions->instruction_set) + ", " + std::to_string(setting.threads) +
         " thread(s)";
}

std::vector<float> random_values(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 2.0f * uniform_from_bits(philox(seed, 1, i / 4).v[i % 4]) - 1.0f;
  return values;
}

Data random_data(const graph::Graph& graph, const graph::ParameterLayout& layout, std::int64_t classes,
                 std::uint64_t seed) {
  Data data;
  data.input = random_values(elements_of_role(graph, graph::Role::input), seed);
  data.parameters = random_values(layout.total_size, seed + 1);
  const std::int64_t targets = elements_of_role(graph, graph::Role::target);
  data.float_target = random_values(targets, seed + 2);
  for (std::int64_t i = 0; i < targets; ++i)
    data.labels.push_back(static_cast<std::int32_t>(philox(seed, 2, static_cast<std::uint64_t>(i)).v[0] %
                                                    static_cast<std::uint32_t>(classes)));
  data.loss_seed = 1.0f / static_cast<float>(graph.batch);
  return data;
}

graph::ParameterLayout layout_of(const graph::Graph& graph) {
  std::vector<std::int64_t> sizes;
  for (const graph::Value& value : graph.values) {
    if (value.role != graph::Role::parameter) continue;
    const auto index = static_cast<std::size_t>(value.index);
    if (sizes.size() <= index) sizes.resize(index + 1, 0);
    sizes[index] = value.shape.elements();
  }
  return graph::make_layout(graph, sizes, std::vector<bool>(sizes.size(), !graph.ready_order.empty()));
}

Harness::Harness(const graph::Graph& graph, const graph::ParameterLayout& layout, const Setting& setting)
    : backend_(setting.threads, *setting.functions),
      program_(backend_.compile(graph, layout)),
      arena_(static_cast<std::size_t>(program_->arena_bytes())),
      parameters_(buffer_of(layout.total_size)),
      gradients_(buffer_of(layout.trainable_size)),
      statistics_(buffer_of(graph.statistics_size)),
      output_(buffer_of(elements_of_role(graph, graph::Role::output))),
      input_(buffer_of(elements_of_role(graph, graph::Role::input))),
      target_(buffer_of(elements_of_role(graph, graph::Role::target))) {
  // What a kernel fails to write must show.
  for (const HostBuffer* buffer : {&arena_, &gradients_, &statistics_, &output_})
    for (float& x : buffer->span_of<float>()) x = std::numeric_limits<float>::quiet_NaN();
}

StepArguments Harness::arguments(const Data& data) {
  const auto copy = [](const auto& from, const HostBuffer& to) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size() * sizeof from[0]);
  };
  copy(data.input, input_);
  copy(data.parameters, parameters_);
  const graph::Value* target = find_role(program_->graph(), graph::Role::target);
  if (target != nullptr && target->dtype == DType::i32)
    copy(data.labels, target_);
  else
    copy(data.float_target, target_);
  StepArguments a;
  a.input = input_.data();
  a.target = target_.data();
  a.output = output_.as<float>();
  a.parameters = parameters_.as<float>();
  a.gradients = gradients_.as<float>();
  a.statistics = statistics_.as<float>();
  a.arena = arena_.data();
  a.loss_seed = data.loss_seed;
  a.seed = 7;
  a.step = 3;
  a.leaf = 1;
  return a;
}

Results Harness::run(const Data& data) {
  const StepArguments a = arguments(data);
  program_->run_forward(a);
  program_->run_backward(a, {});
  const graph::Graph& graph = program_->graph();
  const auto values = [](const HostBuffer& buffer, std::int64_t count) {
    return std::vector<float>(buffer.as<float>(), buffer.as<float>() + count);
  };
  std::int64_t gradients = 0;
  for (const graph::Value& value : graph.values)
    if (value.role == graph::Role::gradient) gradients += value.shape.elements();
  return {values(output_, elements_of_role(graph, graph::Role::output)), values(gradients_, gradients),
          values(statistics_, graph.statistics_size)};
}

Reference run_reference(const graph::Graph& graph, const graph::ParameterLayout& layout, const Data& data) {
  graph::reference::Arguments a;
  a.input.assign(data.input.begin(), data.input.end());
  const graph::Value* target = find_role(graph, graph::Role::target);
  if (target != nullptr && target->dtype == DType::i32)
    a.target.assign(data.labels.begin(), data.labels.end());
  else
    a.target.assign(data.float_target.begin(), data.float_target.end());
  for (const auto& range : layout.ranges) {
    const auto first = data.parameters.begin() + range.offset;
    a.parameters.emplace_back(first, first + range.size);
  }
  a.loss_seed = static_cast<double>(data.loss_seed);
  a.seed = 7;
  a.step = 3;
  a.leaf = 1;
  return graph::reference::run(graph, a);
}

namespace {

void expect_close_array(const std::string& name, const float* got, const std::vector<double>& expected,
                        double tolerance) {
  double largest = 1e-6, difference = 0.0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(expected[i]));
    const double d = std::abs(static_cast<double>(got[i]) - expected[i]);
    if (d <= difference) continue;
    difference = std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
    where = i;
  }
  EXPECT_LE(difference, tolerance * largest) << name << ", element " << where << " of " << expected.size()
                                             << ": " << got[where] << " for " << expected[where];
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!std::isfinite(got[i])) {
      ADD_FAILURE() << name << ", element " << i << " is " << got[i];
      return;
    }
}

}  // namespace

void expect_close(const Results& results, const Reference& reference, const graph::ParameterLayout& layout,
                  double tolerance) {
  for (std::size_t k = 0; k < reference.gradients.size(); ++k)
    if (!reference.gradients[k].empty())
      expect_close_array("gradient " + std::to_string(k), results.gradients.data() + layout.ranges[k].offset,
                         reference.gradients[k], tolerance);
  ASSERT_EQ(results.statistics.size(), reference.statistics.size());
  expect_close_array("statistics", results.statistics.data(), reference.statistics, tolerance);
  ASSERT_EQ(results.output.size(), reference.output.size());
  expect_close_array("output", results.output.data(), reference.output, tolerance);
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinite;
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kInfinite;
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::max(largest, difference / std::max(1.0, std::abs(static_cast<double>(b[i]))));
  }
  return largest;
}

}  // namespace stoker::backend::cpu::test
