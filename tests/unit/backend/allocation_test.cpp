// No allocation inside a step. Counts every operator new of the thread that runs the program, apart for those
// inside oneDNN: version 2.6 makes a hash table of the arguments in each execution and frees it again.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "tests/unit/backend/program_harness.h"
#include "tests/unit/backend/small_nets.h"

namespace {

struct Counters {
  bool counting = false, inside_onednn = false;
  long ours = 0, onednn = 0, live = 0;
};
thread_local Counters counters;

void* counted_allocation(std::size_t bytes, std::size_t alignment) {
  if (counters.counting) {
    ++(counters.inside_onednn ? counters.onednn : counters.ours);
    ++counters.live;
  }
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

void counted_release(void* p) {
  if (counters.counting && p != nullptr) --counters.live;
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted_allocation(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted_allocation(bytes, static_cast<std::size_t>(a));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (...) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept { counted_release(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { counted_release(p); }
void operator delete(void* p, std::size_t) noexcept { counted_release(p); }
void operator delete(void* p, std::align_val_t) noexcept { counted_release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { counted_release(p); }

// Stands before the library's own, so that the counters know when it works.
extern "C" dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                                int count, const dnnl_exec_arg_t* arguments) {
  using Execute = dnnl_status_t (*)(const_dnnl_primitive_t, dnnl_stream_t, int, const dnnl_exec_arg_t*);
  static const auto execute = reinterpret_cast<Execute>(dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
  counters.inside_onednn = true;
  const dnnl_status_t status = execute(primitive, stream, count, arguments);
  counters.inside_onednn = false;
  return status;
}

namespace stoker::backend::cpu::test {
namespace {

TEST(Allocation, NoneInAStepAfterTheFirst) {
  for (const Net& net : small_nets()) {
    SCOPED_TRACE(net.name);
    const graph::Graph g = build(net, 5, true);
    const graph::ParameterLayout layout = layout_of(g);
    const int threads = net.name == "convnet" ? 2 : 1;
    Harness harness(g, layout, {threads, available_functions().front()});
    const Data data = random_data(g, layout, net.classes, 1);
    const StepArguments first = harness.arguments(data);
    // Another leaf: other gradients and another input, the same arena.
    std::vector<float> gradients(static_cast<std::size_t>(layout.trainable_size)), input = data.input;
    StepArguments second = first;
    second.gradients = gradients.data();
    second.input = input.data();
    std::int64_t reported = 0;
    const GradientReady ready = [&reported](std::int64_t count) { reported = count; };
    const auto step = [&](const StepArguments& arguments) {
      harness.program().run_forward(arguments);
      harness.program().run_backward(arguments, ready);
    };
    step(first);
    counters = {};
    counters.counting = true;
    for (int i = 0; i < 3; ++i) {
      step(second);
      step(first);
    }
    counters.counting = false;
    EXPECT_EQ(counters.ours, 0);
    EXPECT_GT(counters.onednn, 0);  // the counter works
    EXPECT_EQ(counters.live, 0);
    EXPECT_EQ(reported, layout.trainable_size);
  }
}

}  // namespace
}  // namespace stoker::backend::cpu::test
