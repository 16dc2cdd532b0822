// The file that `stoker predict` writes: one row a sample, in order. Kinds by extension: .h5 (dataset
// "predictions"), .npy, .csv.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "lib/tensor/shape.h"

namespace stoker::trainer {

class PredictionWriter {
 public:
  virtual ~PredictionWriter() = default;
  // The next `rows` rows, each of the row shape's elements. Throws SystemError.
  virtual void append(const float* values, std::int64_t rows) = 0;
  // Makes the file durable and gives it its name. Without it nothing appears under that name.
  virtual void finish() = 0;
};

// `path` is one that check_output_file() has passed. Throws UserError for a csv of rows of more than one
// axis.
std::unique_ptr<PredictionWriter> make_prediction_writer(const std::string& path, std::int64_t rows,
                                                         const Shape& row);

}  // namespace stoker::trainer
