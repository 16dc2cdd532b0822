// Dense layers: oneDNN's matmul on the plain row-major weights. Its inner product with a weight format of its
// own choice is as fast but for the reorder, a fifth to a third of the multiplication (measured at 64×1600
// by 1600×128 and 64×784 by 784×128).
#include <optional>

#include "lib/backend/cpu/column_sums.h"
#include "lib/backend/cpu/onednn_matmul.h"
#include "lib/backend/cpu/parallel.h"

namespace stoker::backend::cpu {
namespace {

using Desc = dnnl::memory::desc;

class MatMul final : public Kernel {
 public:
  explicit MatMul(const CompileContext& context)
      : functions_(context.functions),
        activation_(context.attributes<graph::MatMulAttributes>().activation),
        y_(context.output(0)),
        rows_(context.shape(y_)[0]),
        columns_(context.shape(y_)[1]) {
    const graph::ValueId x = context.input(0), w = context.input(1), bias = context.input(2);
    const std::int64_t k = context.shape(x)[1];
    const Desc bias_desc = matrix(1, columns_);
    multiply_.emplace(context, matrix(rows_, k), matrix(k, columns_),
                      bias == graph::kNoValue ? nullptr : &bias_desc, matrix(rows_, columns_),
                      user_scratchpad(), [this](std::size_t bytes) { return reserve_scratch(bytes); });
    OnednnPrimitive& p = multiply_->primitive();
    p.bind_value(DNNL_ARG_SRC, matrix(rows_, k), x);
    p.bind_value(DNNL_ARG_WEIGHTS, matrix(k, columns_), w);
    if (bias != graph::kNoValue) p.bind_value(DNNL_ARG_BIAS, bias_desc, bias);
    p.bind_value(DNNL_ARG_DST, matrix(rows_, columns_), y_);
  }

  void run(const Run& run) override {
    multiply_->primitive().run(run);
    if (activation_.kind == graph::ActivationKind::linear) return;
    float* y = run.f32(y_);
    parallel_elements(rows_ * columns_, [&](std::int64_t begin, std::int64_t end) {
      functions_.activation(activation_, y + begin, y + begin, end - begin);
    });
  }
  std::string implementation() const override { return multiply_->implementation(); }

 private:
  const Functions& functions_;
  graph::ActivationAttributes activation_;
  graph::ValueId y_;
  std::int64_t rows_, columns_;
  std::optional<OnednnMatMul> multiply_;
};

// dx = dy · wᵀ
class MatMulGradInput final : public Kernel {
 public:
  explicit MatMulGradInput(const CompileContext& context) {
    const graph::ValueId dy = context.input(0), w = context.input(1), dx = context.output(0);
    const std::int64_t n = context.shape(dy)[0], m = context.shape(dy)[1], k = context.shape(dx)[1];
    multiply_.emplace(context, matrix(n, m), matrix(m, k, true), nullptr, matrix(n, k), user_scratchpad(),
                      [this](std::size_t bytes) { return reserve_scratch(bytes); });
    OnednnPrimitive& p = multiply_->primitive();
    p.bind_value(DNNL_ARG_SRC, matrix(n, m), dy);
    p.bind_value(DNNL_ARG_WEIGHTS, matrix(m, k, true), w);
    p.bind_value(DNNL_ARG_DST, matrix(n, k), dx);
  }
  void run(const Run& run) override { multiply_->primitive().run(run); }
  std::string implementation() const override { return multiply_->implementation(); }

 private:
  std::optional<OnednnMatMul> multiply_;
};

// dw = xᵀ · dy, db = Σ rows of dy
class MatMulGradWeights final : public Kernel {
 public:
  explicit MatMulGradWeights(const CompileContext& context)
      : dy_(context.input(1)),
        db_(context.output(1)),
        sums_(context.functions, context.shape(dy_)[0], context.shape(dy_)[1]) {
    const graph::ValueId x = context.input(0), dw = context.output(0);
    const std::int64_t n = context.shape(x)[0], k = context.shape(x)[1], m = context.shape(dy_)[1];
    multiply_.emplace(context, matrix(k, n, true), matrix(n, m), nullptr, matrix(k, m), user_scratchpad(),
                      [this](std::size_t bytes) { return reserve_scratch(bytes); });
    OnednnPrimitive& p = multiply_->primitive();
    p.bind_value(DNNL_ARG_SRC, matrix(k, n, true), x);
    p.bind_value(DNNL_ARG_WEIGHTS, matrix(n, m), dy_);
    p.bind_value(DNNL_ARG_DST, matrix(k, m), dw);
    if (db_ != graph::kNoValue) sums_scratch_ = reserve_scratch(sums_.scratch_bytes());
  }
  void run(const Run& run) override {
    multiply_->primitive().run(run);
    if (db_ != graph::kNoValue) sums_.run(run.f32(dy_), run.f32(db_), run.scratch_at<float>(sums_scratch_));
  }
  std::string implementation() const override { return multiply_->implementation(); }

 private:
  graph::ValueId dy_, db_;
  ColumnSums sums_;
  std::size_t sums_scratch_ = 0;
  std::optional<OnednnMatMul> multiply_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const CompileContext& context) {
  return std::make_unique<MatMul>(context);
}
std::unique_ptr<Kernel> make_matmul_grad_input(const CompileContext& context) {
  return std::make_unique<MatMulGradInput>(context);
}
std::unique_ptr<Kernel> make_matmul_grad_weights(const CompileContext& context) {
  return std::make_unique<MatMulGradWeights>(context);
}

}  // namespace stoker::backend::cpu
