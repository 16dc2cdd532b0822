// concat, slice and pad2d: copies of boxes, a contiguous row at a time.
#include <cstring>
#include <vector>

#include "lib/backend/cpu/kernel.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

// Copies the box of `size` at `from_begin` of one array to `to_begin` of another of the same rank.
class BoxCopy {
 public:
  BoxCopy(const Shape& from, const std::vector<std::int64_t>& from_begin, const Shape& to,
          const std::vector<std::int64_t>& to_begin, const std::vector<std::int64_t>& size) {
    std::int64_t from_stride = 1, to_stride = 1;
    for (std::size_t axis = size.size(); axis-- > 0;) {
      from_offset_ += from_begin[axis] * from_stride;
      to_offset_ += to_begin[axis] * to_stride;
      // The row grows while the box is as wide as both arrays.
      if (axes_.empty() && from_stride == row_ && to_stride == row_)
        row_ *= size[axis];
      else
        axes_.push_back({size[axis], from_stride, to_stride});
      from_stride *= from[axis];
      to_stride *= to[axis];
    }
    for (const Axis& axis : axes_) rows_ *= axis.size;
  }

  void run(const float* from, float* to) const {
    parallel_ranges(rows_, 1, row_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::int64_t rest = i, from_at = from_offset_, to_at = to_offset_;
        for (const Axis& axis : axes_) {
          from_at += rest % axis.size * axis.from_stride;
          to_at += rest % axis.size * axis.to_stride;
          rest /= axis.size;
        }
        std::memcpy(to + to_at, from + from_at, static_cast<std::size_t>(row_) * sizeof(float));
      }
    });
  }

 private:
  struct Axis {
    std::int64_t size, from_stride, to_stride;
  };
  std::vector<Axis> axes_;  // fastest first
  std::int64_t row_ = 1, rows_ = 1, from_offset_ = 0, to_offset_ = 0;
};

std::vector<std::int64_t> zeros(const Shape& shape) { return std::vector<std::int64_t>(shape.rank(), 0); }

class Concat final : public Kernel {
 public:
  explicit Concat(const CompileContext& context) : y_(context.output(0)) {
    const std::size_t axis = context.attributes<graph::ConcatAttributes>().axis;
    std::vector<std::int64_t> begin = zeros(context.shape(y_));
    for (const graph::ValueId x : context.op.inputs) {
      const Shape& shape = context.shape(x);
      parts_.push_back({x, BoxCopy(shape, zeros(shape), context.shape(y_), begin, shape.dims())});
      begin[axis] += shape[axis];
    }
  }
  void run(const Run& run) override {
    for (const Part& part : parts_) part.copy.run(run.f32(part.x), run.f32(y_));
  }

 private:
  struct Part {
    graph::ValueId x;
    BoxCopy copy;
  };
  graph::ValueId y_;
  std::vector<Part> parts_;
};

class Slice final : public Kernel {
 public:
  explicit Slice(const CompileContext& context)
      : x_(context.input(0)),
        y_(context.output(0)),
        copy_(context.shape(x_), context.attributes<graph::SliceAttributes>().begin, context.shape(y_),
              zeros(context.shape(y_)), context.shape(y_).dims()) {}
  void run(const Run& run) override { copy_.run(run.f32(x_), run.f32(y_)); }

 private:
  graph::ValueId x_, y_;
  BoxCopy copy_;
};

class Pad2D final : public Kernel {
 public:
  explicit Pad2D(const CompileContext& context)
      : x_(context.input(0)),
        y_(context.output(0)),
        padding_(context.attributes<graph::Padding2D>()),
        n_(context.shape(x_)[0]),
        h_(context.shape(x_)[1]),
        row_(context.shape(x_)[2] * context.shape(x_)[3]),
        left_(padding_.left * context.shape(x_)[3]),
        right_(padding_.right * context.shape(x_)[3]) {}

  void run(const Run& run) override {
    const float* x = run.f32(x_);
    float* y = run.f32(y_);
    const std::int64_t height = padding_.top + h_ + padding_.bottom, width = left_ + row_ + right_;
    parallel_ranges(n_ * height, 1, width, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        float* out = y + line * width;
        const std::int64_t i = line % height - padding_.top;
        if (i < 0 || i >= h_) {
          clear(out, width);
          continue;
        }
        clear(out, left_);
        std::memcpy(out + left_, x + (line / height * h_ + i) * row_, bytes(row_));
        clear(out + left_ + row_, right_);
      }
    });
  }

 private:
  static std::size_t bytes(std::int64_t floats) { return static_cast<std::size_t>(floats) * sizeof(float); }
  static void clear(float* to, std::int64_t floats) { std::memset(to, 0, bytes(floats)); }

  graph::ValueId x_, y_;
  graph::Padding2D padding_;
  std::int64_t n_, h_, row_, left_, right_;  // row, left, right: floats of a line
};

}  // namespace

std::unique_ptr<Kernel> make_concat(const CompileContext& context) {
  return std::make_unique<Concat>(context);
}
std::unique_ptr<Kernel> make_slice(const CompileContext& context) { return std::make_unique<Slice>(context); }
std::unique_ptr<Kernel> make_pad2d(const CompileContext& context) { return std::make_unique<Pad2D>(context); }

}  // namespace stoker::backend::cpu
