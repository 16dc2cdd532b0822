#include "lib/optim/parameter_range.h"

#include <cmath>

#include "lib/optim/chunks.h"

namespace stoker::optim {
namespace {

constexpr float kKerasEpsilon = 1e-7F;
constexpr std::size_t kMaxRank = 8;

// A weight seen as kept × reduced positions: the element (k, r) is at offset(kept, k) + offset(reduced, r).
struct Axes {
  std::array<std::int64_t, kMaxRank> extent{}, stride{};
  std::size_t rank = 0;
  std::int64_t positions = 1;

  void add(std::int64_t axis_extent, std::int64_t axis_stride) {
    extent[rank] = axis_extent;
    stride[rank] = axis_stride;
    ++rank;
    positions *= axis_extent;
  }
  std::int64_t offset(std::int64_t position) const {
    std::int64_t result = 0;
    for (std::size_t i = rank; i-- > 0;) {
      result += position % extent[i] * stride[i];
      position /= extent[i];
    }
    return result;
  }
};

struct Split {
  Axes kept, reduced;
};

Split split_axes(const ParameterRange& range) {
  Split split;
  const auto rank = static_cast<int>(range.shape.size());
  std::int64_t stride = range.size;
  for (int axis = 0; axis < rank; ++axis) {
    const std::int64_t extent = range.shape[static_cast<std::size_t>(axis)];
    stride /= extent;
    bool reduce = false;
    for (const int named : range.constraint.axes) reduce |= named == axis || named + rank == axis;
    (reduce ? split.reduced : split.kept).add(extent, stride);
  }
  return split;
}

// The factor that a constraint multiplies a vector of this norm with.
float norm_factor(const Constraint& constraint, float norm) {
  switch (constraint.kind) {
    case Constraint::Kind::max_norm:
      return std::min(norm, constraint.max_value) / (kKerasEpsilon + norm);
    case Constraint::Kind::unit_norm:
      return 1.0F / (kKerasEpsilon + norm);
    case Constraint::Kind::min_max_norm: {
      const float clipped = std::min(std::max(norm, constraint.min_value), constraint.max_value);
      return (constraint.rate * clipped + (1.0F - constraint.rate) * norm) / (kKerasEpsilon + norm);
    }
    case Constraint::Kind::none:
    case Constraint::Kind::non_negative:
      break;
  }
  return 1.0F;
}

void constrain_norms(const ParameterRange& range, float* weights) {
  const Split split = split_axes(range);
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < split.kept.positions; ++k) {
    float* const vector = weights + split.kept.offset(k);
    double squares = 0;
    for (std::int64_t r = 0; r < split.reduced.positions; ++r) {
      const double w = vector[split.reduced.offset(r)];
      squares += w * w;
    }
    const float factor = norm_factor(range.constraint, static_cast<float>(std::sqrt(squares)));
    for (std::int64_t r = 0; r < split.reduced.positions; ++r) vector[split.reduced.offset(r)] *= factor;
  }
}

void constrain_to_non_negative(const ParameterRange& range, float* weights) {
#pragma omp parallel for simd schedule(static)
  for (std::int64_t i = 0; i < range.size; ++i) weights[i] = weights[i] < 0.0F ? 0.0F : weights[i];
}

}  // namespace

double sum_of_squares(const float* values, std::int64_t count) {
  return sum_over_chunks(count, [values](std::int64_t begin, std::int64_t size) {
    return sum_in_lanes(begin, size,
                        [values](std::int64_t i) { return static_cast<double>(values[i]) * values[i]; });
  });
}

double regularization_loss(std::span<const ParameterRange> ranges, const float* parameters) {
  double loss = 0;
  for (const ParameterRange& range : ranges) {
    if (!range.trainable || range.regularizer.empty()) continue;
    const float* const weights = parameters + range.offset;
    if (range.regularizer.l1 != 0)
      loss += range.regularizer.l1 *
              sum_over_chunks(range.size, [weights](std::int64_t begin, std::int64_t size) {
                return sum_in_lanes(begin, size, [weights](std::int64_t i) {
                  return std::fabs(static_cast<double>(weights[i]));
                });
              });
    if (range.regularizer.l2 != 0) loss += range.regularizer.l2 * sum_of_squares(weights, range.size);
  }
  return loss;
}

void apply_constraints(std::span<const ParameterRange> ranges, float* parameters) {
  for (const ParameterRange& range : ranges) {
    if (!range.trainable || range.size == 0) continue;
    float* const weights = parameters + range.offset;
    switch (range.constraint.kind) {
      case Constraint::Kind::none:
        break;
      case Constraint::Kind::non_negative:
        constrain_to_non_negative(range, weights);
        break;
      case Constraint::Kind::max_norm:
      case Constraint::Kind::unit_norm:
      case Constraint::Kind::min_max_norm:
        constrain_norms(range, weights);
        break;
    }
  }
}

}  // namespace stoker::optim
