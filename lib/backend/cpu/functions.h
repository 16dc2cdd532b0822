// Our own kernels, compiled once for each instruction set and reached through one table that is chosen at run
// time. A function works on the calling thread alone, on the range it is given; dividing work among threads
// is the caller's (parallel.h).
//
// Unless said otherwise: arrays are fp32 and dense, an output may be the same array as an input of the same
// shape, but may not overlap it otherwise. `rows` × `c` arrays are row-major. Sums run in an order that
// depends on the sizes and the instruction set only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/graph/op.h"

namespace stoker::backend::cpu {

// x[n,h,w,c] → y[n,oh,ow,c].
struct PoolShape {
  std::int64_t h, w, c, oh, ow, window_h, window_w, stride_h, stride_w, padding_top, padding_left;
};

// A convolution with few taps, ReLU and 2×2 max pooling of one sample x[h,w,c] (padded already).
struct ConvPoolShape {
  std::int64_t pooled_h, pooled_w, channels;  // of the result; channels are a multiple of 16
  std::int64_t cell_step, cell_line;  // floats in x from one output of the convolution to the next, and to
                                      // that one line below
  std::int64_t taps;
  const std::int64_t* tap_offsets;  // floats in x from an output's first tap, in the order of the weights
  bool relu;
};

struct Functions {
  const char* instruction_set;  // "avx512", "avx2", "baseline"

  // Element-wise, over n elements.
  void (*activation)(const graph::ActivationAttributes& attributes, const float* x, float* y, std::int64_t n);
  // dx = dy · derivative at z (the activation's output if attributes.from_output, else its input).
  void (*activation_gradient)(const graph::ActivationAttributes& attributes, const float* dy, const float* z,
                              float* dx, std::int64_t n);
  // y[i] = a[i·a_step] ∘ b[i·b_step], steps 0 or 1.
  void (*binary)(graph::BinaryKind kind, const float* a, std::int64_t a_step, const float* b,
                 std::int64_t b_step, float* y, std::int64_t n);
  void (*scale)(float factor, const float* x, float* y, std::int64_t n);
  // y = (x − shift)·scale + offset over rows × c; a step is 1 (one value a column) or 0 (one value for all).
  void (*affine)(const float* x, const float* shift, std::int64_t shift_step, const float* scale,
                 std::int64_t scale_step, const float* offset, std::int64_t offset_step, float* y,
                 std::int64_t rows, std::int64_t c);
  // y[i] = kept ? x[i] / (1 − rate) : 0 for elements [begin, end) of the whole array; begin a multiple of 4.
  void (*dropout)(std::uint64_t key, float rate, const float* x, float* y, std::int64_t begin,
                  std::int64_t end);
  // Whether all n values are finite.
  bool (*all_finite)(const float* x, std::int64_t n);

  // Rows.
  void (*softmax)(const float* x, float* y, std::int64_t rows, std::int64_t c);
  void (*softmax_gradient)(const float* dy, const float* y, float* dx, std::int64_t rows, std::int64_t c);
  // sums[j] = Σ over rows of x[row, j].
  void (*column_sums)(const float* x, std::int64_t rows, std::int64_t c, float* sums);
  // values[row] = the row's loss; d = scale · gradient, if not null. `target` holds int32 labels (sparse), or
  // fp32 rows × c. Only the cross-entropies over classes.
  void (*class_loss)(const graph::LossAttributes& attributes, const float* prediction, const void* target,
                     float* d, float scale, double* values, std::int64_t rows, std::int64_t c);
  // The element-wise losses: values[row] = the mean over the row's c elements; d as above, with the 1/c of
  // the mean in `scale`.
  void (*element_loss)(const graph::LossAttributes& attributes, const float* prediction, const float* target,
                       float* d, float scale, double* values, std::int64_t rows, std::int64_t c);
  // values[row] = the row's metric.
  void (*metric)(const graph::MetricAttributes& attributes, const float* prediction, const void* target,
                 double* values, std::int64_t rows, std::int64_t c);

  // Batch normalisation over a chunk of rows × c.
  // mean[j] of the chunk, and squares[j] = Σ (x − mean)².
  void (*batch_norm_moments)(const float* x, std::int64_t rows, std::int64_t c, float* mean, float* squares);
  // y = act((x − mean)·factor + beta)
  void (*batch_norm_apply)(const graph::ActivationAttributes& attributes, const float* x, const float* mean,
                           const float* factor, const float* beta, float* y, std::int64_t rows,
                           std::int64_t c);
  // With d = dy where 0 < y < ceiling, else 0 (y null: d = dy): sum_dy = Σ d, sum_dy_x = Σ d·(x − mean).
  void (*batch_norm_gradient_sums)(const float* dy, const float* x, const float* y, float ceiling,
                                   const float* mean, std::int64_t rows, std::int64_t c, float* sum_dy,
                                   float* sum_dy_x);
  // dx = (d − offset − (x − mean)·slope)·factor; dx may be dy.
  void (*batch_norm_gradient_apply)(const float* dy, const float* x, const float* y, float ceiling,
                                    const float* mean, const float* factor, const float* offset,
                                    const float* slope, float* dx, std::int64_t rows, std::int64_t c);

  // Pooling of the output lines [begin, end) of all n·oh; x and y are different arrays. A maximum over a NaN
  // is NaN; argmax may be null; relu: y is the maximum or 0 (with it, argmax says nothing where y is 0).
  void (*max_pool)(const PoolShape& shape, bool relu, const float* x, float* y, std::uint8_t* argmax,
                   std::int64_t begin, std::int64_t end);
  void (*average_pool)(const PoolShape& shape, const float* x, float* y, std::int64_t begin,
                       std::int64_t end);
  // The input lines [begin, end) of all n·h. y, if not null, is the pool's output: only where it is positive
  // dy counts.
  void (*max_pool_gradient)(const PoolShape& shape, const float* dy, const std::uint8_t* argmax,
                            const float* y, float* dx, std::int64_t begin, std::int64_t end);
  void (*average_pool_gradient)(const PoolShape& shape, const float* dy, float* dx, std::int64_t begin,
                                std::int64_t end);
  // A line of pooled_w windows; x points at the first tap of the line's first output. weights are taps ×
  // channels; bias and argmax may be null.
  void (*conv_pool_line)(const ConvPoolShape& shape, const float* x, const float* weights, const float* bias,
                         float* y, std::uint8_t* argmax);
  // One sample: dw (taps × channels) and db (channels, or null) from the gradient dy of its pooled outputs y.
  void (*conv_pool_gradient)(const ConvPoolShape& shape, const float* x, const float* dy, const float* y,
                             const std::uint8_t* argmax, float* dw, float* db);
  // One sample: x is positions × c, y is c.
  void (*global_average_pool)(const float* x, std::int64_t positions, std::int64_t c, float* y);
  void (*global_max_pool)(const float* x, std::int64_t positions, std::int64_t c, float* y);
  void (*global_average_pool_gradient)(const float* dy, std::int64_t positions, std::int64_t c, float* dx);
  void (*global_max_pool_gradient)(const float* dy, const float* x, const float* y, std::int64_t positions,
                                   std::int64_t c, float* dx);
};

// The tables this CPU can run, best first; never empty ("baseline" runs everywhere).
std::vector<const Functions*> available_functions();

namespace avx512 {
extern const Functions kFunctions;
}
namespace avx2 {
extern const Functions kFunctions;
}
namespace baseline {
extern const Functions kFunctions;
}

}  // namespace stoker::backend::cpu
