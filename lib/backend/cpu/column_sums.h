// Sums over the rows of a rows × c array, as bias gradients are. Rows are summed in fp32 in chunks of a fixed
// length and the chunks in double, so the result depends neither on the threads nor much on the length.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lib/backend/cpu/functions.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {

class ColumnSums {
 public:
  ColumnSums(const Functions& functions, std::int64_t rows, std::int64_t c)
      : functions_(&functions), rows_(rows), c_(c), chunks_((rows + kChunk - 1) / kChunk) {}

  std::size_t scratch_bytes() const {
    return chunks_ <= 1 ? 0 : static_cast<std::size_t>(chunks_ * c_) * sizeof(float);
  }

  void run(const float* x, float* sums, float* scratch) const {
    if (chunks_ <= 1) {
      functions_->column_sums(x, rows_, c_, sums);
      return;
    }
    parallel_ranges(chunks_, 1, kChunk * c_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t chunk = begin; chunk < end; ++chunk) {
        const std::int64_t first = chunk * kChunk;
        const std::int64_t count = first + kChunk < rows_ ? kChunk : rows_ - first;
        functions_->column_sums(x + first * c_, count, c_, scratch + chunk * c_);
      }
    });
    for (std::int64_t j = 0; j < c_; ++j) {
      double sum = 0.0;
      for (std::int64_t chunk = 0; chunk < chunks_; ++chunk)
        sum += static_cast<double>(scratch[chunk * c_ + j]);
      sums[j] = static_cast<float>(sum);
    }
  }

 private:
  static constexpr std::int64_t kChunk = 256;
  const Functions* functions_;
  std::int64_t rows_, c_, chunks_;
};

}  // namespace stoker::backend::cpu
