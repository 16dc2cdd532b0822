#include "lib/backend/cpu/cpu_backend.h"

#include <omp.h>

#include <cstring>

#include "lib/backend/cpu/parallel.h"
#include "lib/backend/cpu/program_cpu.h"
#include "lib/base/error.h"
#include "lib/tensor/memory.h"

namespace stoker::backend::cpu {
namespace {

class CpuMemory final : public Memory {
 public:
  explicit CpuMemory(std::size_t bytes) : buffer_(bytes) {}
  std::byte* data() const override { return buffer_.data(); }
  std::size_t bytes() const override { return buffer_.bytes(); }

 private:
  HostBuffer buffer_;
};

// oneDNN's own names; DNNL_MAX_CPU_ISA lowers what it uses.
std::string onednn_instruction_set() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "isa" + std::to_string(static_cast<int>(dnnl::get_effective_cpu_isa()));
  }
}

}  // namespace

CpuBackend::CpuBackend(int threads, const Functions& functions) : threads_(threads), functions_(functions) {
  const int limit = omp_get_thread_limit();
  if (threads > limit)
    throw UserError(std::to_string(threads) + " compute threads are more than OMP_THREAD_LIMIT=" +
                        std::to_string(limit) + " allows",
                    "the environment", "unset OMP_THREAD_LIMIT or give --threads " + std::to_string(limit));
  omp_set_num_threads(threads);
  engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
  stream_ = dnnl::stream(engine_);
}

std::string CpuBackend::instruction_set() const {
  return onednn_instruction_set() + "+" + functions_.instruction_set;
}

std::string CpuBackend::description() const {
  const dnnl_version_t* v = dnnl_version();
  return "oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." +
         std::to_string(v->patch) + " (" + onednn_instruction_set() + "), own kernels (" +
         functions_.instruction_set + "), " + std::to_string(threads_) +
         (threads_ == 1 ? " thread" : " threads");
}

std::unique_ptr<Memory> CpuBackend::allocate(std::size_t bytes) { return std::make_unique<CpuMemory>(bytes); }

void CpuBackend::copy_to_device(void* device, const void* host, std::size_t bytes) {
  if (bytes > 0) std::memcpy(device, host, bytes);
}

void CpuBackend::copy_to_host(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) std::memcpy(host, device, bytes);
}

void CpuBackend::add(float* destination, const float* source, std::int64_t count) {
  if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
  parallel_elements(count, [&](std::int64_t begin, std::int64_t end) {
    functions_.binary(graph::BinaryKind::add, destination + begin, 1, source + begin, 1, destination + begin,
                      end - begin);
  });
}

std::unique_ptr<Program> CpuBackend::compile(graph::Graph graph, const graph::ParameterLayout& layout) {
  if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
  return std::make_unique<CpuProgram>(std::move(graph), layout, functions_, engine_, stream_, threads_);
}

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<CpuBackend>(threads, *available_functions().front());
}

}  // namespace stoker::backend::cpu
