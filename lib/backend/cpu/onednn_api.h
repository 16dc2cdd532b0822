// The difference between oneDNN 2.6 and 3.x: in 2.x a primitive descriptor is made from an operation
// descriptor, in 3.x from the arguments themselves. Everything else of this backend is written once.
//
// All functions throw dnnl::error; a combination the library does not have gives dnnl_unimplemented.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

namespace stoker::backend::cpu::onednn {

using dnnl::engine;
using dnnl::primitive_attr;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;

// bias may be null.
inline dnnl::matmul::primitive_desc matmul(const engine& e, const Desc& source, const Desc& weights,
                                           const Desc* bias, const Desc& destination,
                                           const primitive_attr& attributes) {
#if DNNL_VERSION_MAJOR >= 3
  if (bias != nullptr) return {e, source, weights, *bias, destination, attributes};
  return {e, source, weights, destination, attributes};
#else
  if (bias != nullptr) return {{source, weights, *bias, destination}, attributes, e};
  return {{source, weights, destination}, attributes, e};
#endif
}

// Strides, dilation (0 = dense) and padding of a convolution.
struct ConvolutionGeometry {
  Dims strides, dilations, padding_begin, padding_end;
};

inline dnnl::convolution_forward::primitive_desc convolution_forward(const engine& e, const Desc& source,
                                                                     const Desc& weights, const Desc* bias,
                                                                     const Desc& destination,
                                                                     const ConvolutionGeometry& g,
                                                                     const primitive_attr& attributes) {
  constexpr auto kind = dnnl::prop_kind::forward_training;
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  if (bias != nullptr)
    return {e,           kind,      algorithm,   source,          weights,       *bias,
            destination, g.strides, g.dilations, g.padding_begin, g.padding_end, attributes};
  return {e,         kind,        algorithm,       source,        weights,   destination,
          g.strides, g.dilations, g.padding_begin, g.padding_end, attributes};
#else
  using Operation = dnnl::convolution_forward::desc;
  if (bias != nullptr)
    return {Operation(kind, algorithm, source, weights, *bias, destination, g.strides, g.dilations,
                      g.padding_begin, g.padding_end),
            attributes, e};
  return {Operation(kind, algorithm, source, weights, destination, g.strides, g.dilations, g.padding_begin,
                    g.padding_end),
          attributes, e};
#endif
}

inline dnnl::convolution_backward_data::primitive_desc convolution_backward_data(
    const engine& e, const Desc& d_source, const Desc& weights, const Desc& d_destination,
    const ConvolutionGeometry& g, const dnnl::convolution_forward::primitive_desc& forward,
    const primitive_attr& attributes) {
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  return {e,           algorithm,       d_source,      weights, d_destination, g.strides,
          g.dilations, g.padding_begin, g.padding_end, forward, attributes};
#else
  return {dnnl::convolution_backward_data::desc(algorithm, d_source, weights, d_destination, g.strides,
                                                g.dilations, g.padding_begin, g.padding_end),
          attributes, e, forward};
#endif
}

// d_bias may be null.
inline dnnl::convolution_backward_weights::primitive_desc convolution_backward_weights(
    const engine& e, const Desc& source, const Desc& d_weights, const Desc* d_bias, const Desc& d_destination,
    const ConvolutionGeometry& g, const dnnl::convolution_forward::primitive_desc& forward,
    const primitive_attr& attributes) {
  constexpr auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  if (d_bias != nullptr)
    return {e,         algorithm,   source,          d_weights,     *d_bias, d_destination,
            g.strides, g.dilations, g.padding_begin, g.padding_end, forward, attributes};
  return {e,           algorithm,       source,        d_weights, d_destination, g.strides,
          g.dilations, g.padding_begin, g.padding_end, forward,   attributes};
#else
  using Operation = dnnl::convolution_backward_weights::desc;
  if (d_bias != nullptr)
    return {Operation(algorithm, source, d_weights, *d_bias, d_destination, g.strides, g.dilations,
                      g.padding_begin, g.padding_end),
            attributes, e, forward};
  return {Operation(algorithm, source, d_weights, d_destination, g.strides, g.dilations, g.padding_begin,
                    g.padding_end),
          attributes, e, forward};
#endif
}

}  // namespace stoker::backend::cpu::onednn
