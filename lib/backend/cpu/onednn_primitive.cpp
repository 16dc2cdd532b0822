#include "lib/backend/cpu/onednn_primitive.h"

namespace stoker::backend::cpu {

void OnednnPrimitive::bind(int argument, const dnnl::memory::desc& desc, graph::ValueId value,
                           std::size_t scratch_offset) {
  bindings_.push_back({dnnl::memory(desc, engine_, DNNL_MEMORY_NONE), value, scratch_offset, nullptr});
  arguments_.push_back({argument, bindings_.back().memory.get()});
}

void OnednnPrimitive::bind_value(int argument, const dnnl::memory::desc& desc, graph::ValueId value) {
  bind(argument, desc, value, 0);
}

void OnednnPrimitive::bind_scratch(int argument, const dnnl::memory::desc& desc, std::size_t scratch_offset) {
  bind(argument, desc, graph::kNoValue, scratch_offset);
}

void OnednnPrimitive::run(const Run& run) {
  for (Binding& b : bindings_) {
    std::byte* pointer = b.value == graph::kNoValue ? run.scratch + b.scratch_offset : run.values[b.value];
    if (pointer == b.pointer) continue;
    b.memory.set_data_handle(pointer);
    b.pointer = pointer;
  }
  dnnl::error::wrap_c_api(dnnl_primitive_execute(primitive_.get(), stream_.get(),
                                                 static_cast<int>(arguments_.size()), arguments_.data()),
                          "could not execute a primitive");
}

}  // namespace stoker::backend::cpu
