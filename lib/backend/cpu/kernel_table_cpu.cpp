#include <iterator>
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
    {OpKind::conv2d, make_conv2d},
    {OpKind::conv2d_grad_input, make_conv2d_grad_input},
    {OpKind::conv2d_grad_weights, make_conv2d_grad_weights},
    {OpKind::matmul, make_matmul},
    {OpKind::matmul_grad_input, make_matmul_grad_input},
    {OpKind::matmul_grad_weights, make_matmul_grad_weights},
    {OpKind::pool2d, make_pool2d},
    {OpKind::pool2d_grad, make_pool2d_grad},
    {OpKind::global_pool, make_global_pool},
    {OpKind::global_pool_grad, make_global_pool_grad},
    {OpKind::activation, make_activation},
    {OpKind::activation_grad, make_activation_grad},
    {OpKind::softmax, make_softmax},
    {OpKind::softmax_grad, make_softmax_grad},
    {OpKind::batch_norm, make_batch_norm},
    {OpKind::batch_norm_grad, make_batch_norm_grad},
    {OpKind::batch_norm_inference, make_batch_norm_inference},
    {OpKind::batch_norm_inference_grad, make_batch_norm_inference_grad},
    {OpKind::binary, make_binary},
    {OpKind::reduce_to_shape, make_reduce_to_shape},
    {OpKind::scale, make_scale},
    {OpKind::affine, make_affine},
    {OpKind::concat, make_concat},
    {OpKind::slice, make_slice},
    {OpKind::pad2d, make_pad2d},
    {OpKind::reshape, make_reshape},
    {OpKind::dropout, make_dropout},
    {OpKind::fill, make_fill},
    {OpKind::loss, make_loss},
    {OpKind::metric, make_metric},
};

static_assert(std::size(kKernels) == static_cast<std::size_t>(OpKind::count_));

}  // namespace

KernelFactory factory_of(OpKind kind) {
  for (const Entry& entry : kKernels)
    if (entry.kind == kind) return entry.factory;
  throw std::logic_error("the CPU has no kernel for " + graph::name_of(kind));
}

}  // namespace stoker::backend::cpu
