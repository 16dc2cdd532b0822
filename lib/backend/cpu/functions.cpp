#include "lib/backend/cpu/functions.h"

namespace stoker::backend::cpu {

std::vector<const Functions*> available_functions() {
  std::vector<const Functions*> tables;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("fma"))
    tables.push_back(&avx512::kFunctions);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) tables.push_back(&avx2::kFunctions);
#endif
  tables.push_back(&baseline::kFunctions);
  return tables;
}

}  // namespace stoker::backend::cpu
