// One op compiled for the CPU, and what its factory gets.
//
// A factory looks at shapes and attributes, creates oneDNN primitives, takes constants, and says how much
// scratch the op needs. After that, run() works on pointers only: it allocates nothing and decides nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>

#include "lib/backend/backend.h"
#include "lib/backend/cpu/functions.h"
#include "lib/graph/graph.h"
#include "lib/tensor/memory.h"

namespace stoker::backend::cpu {

// Where everything is in one run of a program.
struct Run {
  std::byte* const* values = nullptr;  // by ValueId
  std::byte* scratch = nullptr;        // of this op, aligned to 64 bytes
  const StepArguments* arguments = nullptr;

  float* f32(graph::ValueId id) const { return reinterpret_cast<float*>(values[id]); }
  float* f32_or_null(graph::ValueId id) const { return id == graph::kNoValue ? nullptr : f32(id); }
  template <typename T>
  T* scratch_at(std::size_t offset) const {
    return reinterpret_cast<T*>(scratch + offset);
  }
};

class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  virtual void run(const Run& run) = 0;
  // "own", or oneDNN's names of the implementations used.
  virtual std::string implementation() const { return "own"; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

 protected:
  // Adds `bytes` to the op's scratch; returns their offset, a multiple of 64.
  std::size_t reserve_scratch(std::size_t bytes) {
    const std::size_t offset = scratch_bytes_;
    scratch_bytes_ += align_up(bytes);
    return offset;
  }

 private:
  std::size_t scratch_bytes_ = 0;
};

// What a factory may use; it all outlives the kernel but for the graph and op, which are read at compile
// time only.
struct CompileContext {
  const graph::Graph& graph;
  const graph::Op& op;
  const Functions& functions;
  const dnnl::engine& engine;
  const dnnl::stream& stream;

  const graph::Value& value(graph::ValueId id) const { return graph.values[static_cast<std::size_t>(id)]; }
  const Shape& shape(graph::ValueId id) const { return value(id).shape; }
  // Optional inputs and outputs beyond those listed are absent.
  graph::ValueId input(std::size_t i) const { return i < op.inputs.size() ? op.inputs[i] : graph::kNoValue; }
  graph::ValueId output(std::size_t i) const {
    return i < op.outputs.size() ? op.outputs[i] : graph::kNoValue;
  }
  template <typename T>
  const T& attributes() const {
    return std::get<T>(op.attributes);
  }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const CompileContext& context);

// The factory of a kind (kernel_table_cpu.cpp).
KernelFactory factory_of(graph::OpKind kind);

// Where each family is made; the file has the family's name.
std::unique_ptr<Kernel> make_conv2d(const CompileContext& context);
std::unique_ptr<Kernel> make_conv2d_grad_input(const CompileContext& context);
std::unique_ptr<Kernel> make_conv2d_grad_weights(const CompileContext& context);
std::unique_ptr<Kernel> make_matmul(const CompileContext& context);
std::unique_ptr<Kernel> make_matmul_grad_input(const CompileContext& context);
std::unique_ptr<Kernel> make_matmul_grad_weights(const CompileContext& context);
std::unique_ptr<Kernel> make_pool2d(const CompileContext& context);
std::unique_ptr<Kernel> make_pool2d_grad(const CompileContext& context);
std::unique_ptr<Kernel> make_global_pool(const CompileContext& context);
std::unique_ptr<Kernel> make_global_pool_grad(const CompileContext& context);
std::unique_ptr<Kernel> make_activation(const CompileContext& context);
std::unique_ptr<Kernel> make_activation_grad(const CompileContext& context);
std::unique_ptr<Kernel> make_softmax(const CompileContext& context);
std::unique_ptr<Kernel> make_softmax_grad(const CompileContext& context);
std::unique_ptr<Kernel> make_batch_norm(const CompileContext& context);
std::unique_ptr<Kernel> make_batch_norm_grad(const CompileContext& context);
std::unique_ptr<Kernel> make_batch_norm_inference(const CompileContext& context);
std::unique_ptr<Kernel> make_batch_norm_inference_grad(const CompileContext& context);
std::unique_ptr<Kernel> make_binary(const CompileContext& context);
std::unique_ptr<Kernel> make_reduce_to_shape(const CompileContext& context);
std::unique_ptr<Kernel> make_scale(const CompileContext& context);
std::unique_ptr<Kernel> make_affine(const CompileContext& context);
std::unique_ptr<Kernel> make_concat(const CompileContext& context);
std::unique_ptr<Kernel> make_slice(const CompileContext& context);
std::unique_ptr<Kernel> make_pad2d(const CompileContext& context);
std::unique_ptr<Kernel> make_reshape(const CompileContext& context);
std::unique_ptr<Kernel> make_dropout(const CompileContext& context);
std::unique_ptr<Kernel> make_fill(const CompileContext& context);
std::unique_ptr<Kernel> make_loss(const CompileContext& context);
std::unique_ptr<Kernel> make_metric(const CompileContext& context);
// For a ReLU that moved behind the pool (op_fusion.h).
std::unique_ptr<Kernel> make_conv2d_without_activation(const CompileContext& context);
std::unique_ptr<Kernel> make_pool2d_with_relu(const CompileContext& context);

}  // namespace stoker::backend::cpu
