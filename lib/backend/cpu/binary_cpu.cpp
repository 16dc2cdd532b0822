// binary with NumPy broadcasting, and reduce_to_shape, its adjoint.
#include <optional>
#include <vector>

#include "lib/backend/cpu/column_sums.h"
#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

// Strides of `shape` broadcast to `full`: 0 along the broadcast axes.
std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& full) {
  std::vector<std::int64_t> strides(full.rank(), 0);
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= shape.rank(); ++back) {
    const std::int64_t dim = shape[shape.rank() - back];
    strides[full.rank() - back] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
  return strides;
}

struct Axis {
  std::int64_t size, a, b;  // extent, strides of both operands
};

// The axes of `full` with neighbours merged where both operands go on evenly; axes of size 1 vanish.
std::vector<Axis> merged_axes(const Shape& full, const Shape& a, const Shape& b) {
  const auto sa = broadcast_strides(a, full), sb = broadcast_strides(b, full);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < full.rank(); ++i) {
    if (full[i] == 1) continue;
    if (!axes.empty() && axes.back().a == sa[i] * full[i] && axes.back().b == sb[i] * full[i])
      axes.back() = {axes.back().size * full[i], sa[i], sb[i]};
    else
      axes.push_back({full[i], sa[i], sb[i]});
  }
  if (axes.empty()) axes.push_back({1, 1, 1});
  return axes;
}

class Binary final : public Kernel {
 public:
  explicit Binary(const CompileContext& context)
      : functions_(context.functions),
        attributes_(context.attributes<graph::BinaryAttributes>()),
        a_(context.input(0)),
        b_(context.input(1)),
        y_(context.output(0)),
        axes_(merged_axes(context.shape(y_), context.shape(a_), context.shape(b_))),
        inner_(axes_.back()) {
    axes_.pop_back();
    for (const Axis& axis : axes_) outer_ *= axis.size;
  }

  void run(const Run& run) override {
    const float* a = run.f32(a_);
    const float* b = run.f32(b_);
    float* y = run.f32(y_);
    if (axes_.empty()) {
      parallel_elements(inner_.size, [&](std::int64_t begin, std::int64_t end) {
        row(a + begin * inner_.a, b + begin * inner_.b, y + begin, end - begin);
      });
      return;
    }
    parallel_ranges(outer_, 1, inner_.size, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t rest = i, a_offset = 0, b_offset = 0;
        for (std::size_t axis = axes_.size(); axis-- > 0;) {
          const std::int64_t index = rest % axes_[axis].size;
          rest /= axes_[axis].size;
          a_offset += index * axes_[axis].a;
          b_offset += index * axes_[axis].b;
        }
        row(a + a_offset, b + b_offset, y + i * inner_.size, inner_.size);
      }
    });
  }

 private:
  // Blocks small enough that the activation finds the sums in the cache.
  void row(const float* a, const float* b, float* y, std::int64_t n) const {
    constexpr std::int64_t kBlock = 4096;
    for (std::int64_t begin = 0; begin < n; begin += kBlock) {
      const std::int64_t count = begin + kBlock < n ? kBlock : n - begin;
      functions_.binary(attributes_.kind, a + begin * inner_.a, inner_.a, b + begin * inner_.b, inner_.b,
                        y + begin, count);
      if (attributes_.activation.kind != graph::ActivationKind::linear)
        functions_.activation(attributes_.activation, y + begin, y + begin, count);
    }
  }

  const Functions& functions_;
  graph::BinaryAttributes attributes_;
  graph::ValueId a_, b_, y_;
  std::vector<Axis> axes_;  // outer ones, slowest first
  Axis inner_;              // strides 0 or 1
  std::int64_t outer_ = 1;
};

// Sums over the leading axes are column sums; any other pattern goes element by element in double.
class ReduceToShape final : public Kernel {
 public:
  explicit ReduceToShape(const CompileContext& context)
      : dy_(context.input(0)), dx_(context.output(0)), outputs_(context.shape(dx_).elements()) {
    const Shape& full = context.shape(dy_);
    const auto strides = broadcast_strides(context.shape(dx_), full);
    std::int64_t stride = full.elements();
    for (std::size_t i = 0; i < full.rank(); ++i) {
      if (full[i] == 0) continue;
      stride /= full[i];
      if (full[i] == 1) continue;
      (strides[i] == 0 ? summed_ : kept_).push_back({full[i], stride, strides[i]});
    }
    for (const Axis& axis : summed_) terms_ *= axis.size;
    bool leading = true;
    for (const Axis& axis : kept_) leading = leading && (summed_.empty() || axis.a < summed_.back().a);
    if (!leading) return;
    columns_.emplace(context.functions, terms_, outputs_);
    scratch_ = reserve_scratch(columns_->scratch_bytes());
  }

  void run(const Run& run) override {
    const float* dy = run.f32(dy_);
    float* dx = run.f32(dx_);
    if (columns_) {
      columns_->run(dy, dx, run.scratch_at<float>(scratch_));
      return;
    }
    parallel_ranges(outputs_, 16, terms_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) dx[i] = sum(dy + offset(kept_, i));
    });
  }

 private:
  static std::int64_t offset(const std::vector<Axis>& axes, std::int64_t index) {
    std::int64_t result = 0;
    for (std::size_t axis = axes.size(); axis-- > 0;) {
      result += index % axes[axis].size * axes[axis].a;
      index /= axes[axis].size;
    }
    return result;
  }
  float sum(const float* first) const {
    double total = 0.0;
    for (std::int64_t term = 0; term < terms_; ++term)
      total += static_cast<double>(first[offset(summed_, term)]);
    return static_cast<float>(total);
  }

  graph::ValueId dy_, dx_;
  std::int64_t outputs_, terms_ = 1;
  std::vector<Axis> summed_, kept_;  // a: stride in dy
  std::optional<ColumnSums> columns_;
  std::size_t scratch_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_binary(const CompileContext& context) {
  return std::make_unique<Binary>(context);
}
std::unique_ptr<Kernel> make_reduce_to_shape(const CompileContext& context) {
  return std::make_unique<ReduceToShape>(context);
}

}  // namespace stoker::backend::cpu
