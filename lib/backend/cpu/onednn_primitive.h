// A oneDNN primitive with its arguments bound to values, scratch or constants of a program.
//
// Executing goes through the C interface with a prepared list, so that we allocate nothing; oneDNN 2.6 itself
// makes a small hash table of the arguments in every execution and frees it again.
#pragma once

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

#include "lib/backend/cpu/kernel.h"

namespace stoker::backend::cpu {

class OnednnPrimitive {
 public:
  OnednnPrimitive() = default;
  OnednnPrimitive(const dnnl::primitive& primitive, const dnnl::engine& engine, const dnnl::stream& stream)
      : primitive_(primitive), engine_(engine), stream_(stream) {}

  // `argument` is a DNNL_ARG_… number. A value's memory is dense as `desc` says.
  void bind_value(int argument, const dnnl::memory::desc& desc, graph::ValueId value);
  void bind_scratch(int argument, const dnnl::memory::desc& desc, std::size_t scratch_offset);

  void run(const Run& run);

 private:
  struct Binding {
    dnnl::memory memory;
    graph::ValueId value;  // kNoValue: scratch
    std::size_t scratch_offset;
    std::byte* pointer;  // what the memory points to now
  };
  void bind(int argument, const dnnl::memory::desc& desc, graph::ValueId value, std::size_t scratch_offset);

  dnnl::primitive primitive_;
  dnnl::engine engine_;
  dnnl::stream stream_;
  std::vector<Binding> bindings_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Attributes of every primitive here: its scratchpad is memory that we hand over.
inline dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

}  // namespace stoker::backend::cpu
