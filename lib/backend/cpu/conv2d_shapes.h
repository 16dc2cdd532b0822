// Descriptions of a convolution's arrays for oneDNN, whose logical order is n, c, h, w and o, i, h, w.
#pragma once

#include "lib/backend/cpu/onednn_api.h"
#include "lib/graph/op.h"
#include "lib/tensor/shape.h"

namespace stoker::backend::cpu {

struct Conv2DShapes {
  dnnl::memory::desc x, y;  // NHWC
  dnnl::memory::desc
      weights;  // Keras: (kh, kw, c/groups, o); with groups the outputs of a group are adjacent
  dnnl::memory::desc any_weights, bias;
  onednn::ConvolutionGeometry geometry;

  Conv2DShapes(const Shape& x_shape, const Shape& w_shape, const Shape& y_shape,
               const graph::Conv2DAttributes& a) {
    using Desc = dnnl::memory::desc;
    using Tag = dnnl::memory::format_tag;
    constexpr auto kFloat = dnnl::memory::data_type::f32;
    const auto image = [&](const Shape& s) { return Desc({s[0], s[3], s[1], s[2]}, kFloat, Tag::nhwc); };
    x = image(x_shape);
    y = image(y_shape);
    const std::int64_t kh = w_shape[0], kw = w_shape[1], in = w_shape[2], out = w_shape[3];
    if (a.groups == 1) {
      weights = Desc({out, in, kh, kw}, kFloat, Tag::hwio);
      any_weights = Desc({out, in, kh, kw}, kFloat, Tag::any);
    } else {
      const dnnl::memory::dims dims = {a.groups, out / a.groups, in, kh, kw};
      weights = Desc(dims, kFloat, dnnl::memory::dims{out / a.groups, 1, out, kw * in * out, in * out});
      any_weights = Desc(dims, kFloat, Tag::any);
    }
    bias = Desc({out}, kFloat, Tag::a);
    geometry = {{a.stride_h, a.stride_w},
                {a.dilation_h - 1, a.dilation_w - 1},
                {a.padding.top, a.padding.left},
                {a.padding.bottom, a.padding.right}};
  }
};

}  // namespace stoker::backend::cpu
