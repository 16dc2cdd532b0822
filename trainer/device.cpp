#include "trainer/device.h"

#include "lib/backend/cpu/cpu_backend.h"
#include "lib/base/error.h"

namespace stoker::trainer {

std::unique_ptr<backend::Backend> make_backend(const std::string& device, int threads) {
  if (device == "cuda")
    throw UserError("this build has no CUDA backend", "--device cuda", "give --device cpu, or auto");
  return backend::cpu::make_cpu_backend(threads);
}

}  // namespace stoker::trainer
