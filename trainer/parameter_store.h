// The flat buffers of a run: parameters and the optimizer's slots, with the names under which checkpoints and
// Keras files know their parts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/backend/backend.h"
#include "lib/checkpoint/reader.h"
#include "lib/checkpoint/writer.h"
#include "lib/keras/model.h"
#include "lib/optim/optimizer.h"
#include "trainer/memory_report.h"

namespace stoker::trainer {

class ParameterStore {
 public:
  // Copies the model's weights in. The slots are zero. `optimizer` may be null: no slots (evaluation).
  ParameterStore(backend::Backend& backend, const keras::Model& model, const graph::ParameterLayout& layout,
                 const optim::Optimizer* optimizer);

  float* parameters() const { return reinterpret_cast<float*>(parameters_->data()); }
  std::span<float* const> slots() const { return slot_pointers_; }
  std::span<const optim::ParameterRange> ranges() const { return ranges_; }
  const graph::ParameterLayout& layout() const { return layout_; }

  // Copies the parameters back into the model's weights.
  void store_into(keras::Model& model) const;

  // "parameters/NAME" of every weight in model order, then "optimizer/SLOT/NAME" of every trainable one.
  std::vector<checkpoint::TensorSource> sources() const;
  std::vector<checkpoint::TensorTarget> targets() const;

  std::int64_t parameter_bytes() const;
  std::int64_t slot_bytes() const;  // of all slots

  // A digest of each weight's bits, to compare the ranks by.
  std::vector<std::uint64_t> digests() const;

 private:
  struct Tensor {
    checkpoint::TensorInfo info;
    float* data = nullptr;
  };
  backend::Backend& backend_;
  graph::ParameterLayout layout_;
  std::vector<optim::ParameterRange> ranges_;  // by weight
  std::unique_ptr<backend::Memory> parameters_;
  std::vector<std::unique_ptr<backend::Memory>> slots_;
  std::vector<float*> slot_pointers_;
  std::vector<Tensor> tensors_;
};

// The parts of the report that follow from the store alone, for this rank of `ranks`.
MemoryReport memory_of(const ParameterStore& store, int rank, int ranks);

}  // namespace stoker::trainer
