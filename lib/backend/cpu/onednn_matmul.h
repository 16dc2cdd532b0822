// destination = source · weights (+ bias) (+ post-operation) on plain row-major or transposed fp32 matrices.
#pragma once

#include <string>

#include "lib/backend/cpu/onednn_api.h"
#include "lib/backend/cpu/onednn_primitive.h"

namespace stoker::backend::cpu {

// rows × columns; `transposed`: the memory holds the transpose, columns × rows.
inline dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed = false) {
  using Tag = dnnl::memory::format_tag;
  return {{rows, columns}, dnnl::memory::data_type::f32, transposed ? Tag::ba : Tag::ab};
}

class OnednnMatMul {
 public:
  // `reserve(bytes)` gives the offset of so much scratch. The caller binds the values (DNNL_ARG_SRC, …).
  template <typename Reserve>
  OnednnMatMul(const CompileContext& context, const dnnl::memory::desc& source,
               const dnnl::memory::desc& weights, const dnnl::memory::desc* bias,
               const dnnl::memory::desc& destination, const dnnl::primitive_attr& attributes,
               const Reserve& reserve)
      : desc_(onednn::matmul(context.engine, source, weights, bias, destination, attributes)),
        primitive_(dnnl::matmul(desc_), context.engine, context.stream) {
    const dnnl::memory::desc scratchpad = desc_.scratchpad_desc();
    primitive_.bind_scratch(DNNL_ARG_SCRATCHPAD, scratchpad, reserve(scratchpad.get_size()));
  }
  OnednnPrimitive& primitive() { return primitive_; }
  std::string implementation() const { return desc_.impl_info_str(); }

 private:
  dnnl::matmul::primitive_desc desc_;
  OnednnPrimitive primitive_;
};

}  // namespace stoker::backend::cpu
