#include <array>
#include <stdexcept>

#include "lib/backend/cpu/kernel.h"

namespace stoker::backend::cpu {
namespace {

using graph::OpKind;

struct Entry {
  OpKind kind;
  KernelFactory factory;
};

constexpr Entry kKernels[] = {
    {OpKind::matmul, make_matmul},
    {OpKind::matmul_grad_input, make_matmul_grad_input},
    {OpKind::matmul_grad_weights, make_matmul_grad_weights},
    {OpKind::activation, make_activation},
    {OpKind::activation_grad, make_activation_grad},
    {OpKind::softmax, make_softmax},
    {OpKind::softmax_grad, make_softmax_grad},
    {OpKind::binary, make_binary},
    {OpKind::reduce_to_shape, make_reduce_to_shape},
    {OpKind::scale, make_scale},
    {OpKind::affine, make_affine},
    {OpKind::reshape, make_reshape},
    {OpKind::dropout, make_dropout},
    {OpKind::fill, make_fill},
    {OpKind::loss, make_loss},
    {OpKind::metric, make_metric},
};

}  // namespace

KernelFactory factory_of(OpKind kind) {
  for (const Entry& entry : kKernels)
    if (entry.kind == kind) return entry.factory;
  throw std::logic_error("the CPU has no kernel for " + graph::name_of(kind));
}

}  // namespace stoker::backend::cpu
