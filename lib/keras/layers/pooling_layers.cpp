#include "lib/keras/layers/image_window.h"
#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"

namespace stoker::keras {

using graph::ValueId;
using nlohmann::json;

namespace {

// A training graph remembers the maximum's place in its window in a byte.
constexpr std::int64_t kLargestMaxWindow = 255;

class PoolingLayer final : public LayerBase {
 public:
  PoolingLayer(ConfigReader& reader, bool is_max)
      : LayerBase(reader), window_(read_window(reader, "pool_size", std::nullopt, false)), is_max_(is_max) {
    if (is_max_ && window_.size.h * window_.size.w > kLargestMaxWindow) {
      reader.refuse("pool_size", pair_config(window_.size), "use windows of at most 255 cells");
    }
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_image(inputs);
    const Pair cells = window_.output(input);
    if (cells.h < 1 || cells.w < 1) {
      misfit("a window larger than the input of shape " + to_string(input),
             "use padding=same or a smaller window");
    }
    return Shape{cells.h, cells.w, input[2]};
  }

  ValueId expand(graph::GraphBuilder& builder, std::span<const ValueId> inputs,
                 const ExpandContext& context) const override {
    graph::Pool2DAttributes attributes;
    attributes.is_max = is_max_;
    attributes.window_h = window_.size.h;
    attributes.window_w = window_.size.w;
    attributes.stride_h = window_.stride.h;
    attributes.stride_w = window_.stride.w;
    attributes.padding = window_.padding(builder.shape(inputs[0]).without_batch());
    const std::size_t outputs = is_max_ && context.training ? 2 : 1;
    return builder.add_many(graph::OpKind::pool2d, attributes, {inputs[0]}, outputs, context.path)[0];
  }

  json config() const override {
    json config = base_config();
    config["pool_size"] = pair_config(window_.size);
    config["strides"] = pair_config(window_.stride);
    config["padding"] = window_.padding_name();
    config["data_format"] = "channels_last";
    return config;
  }

 private:
  ImageWindow window_;
  bool is_max_;
};

class GlobalPoolingLayer final : public LayerBase {
 public:
  GlobalPoolingLayer(ConfigReader& reader, bool is_max)
      : LayerBase(reader), is_max_(is_max), keep_axes_(reader.boolean("keepdims", false)) {}

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_image(inputs);
    return keep_axes_ ? Shape{1, 1, input[2]} : Shape{input[2]};
  }

  ValueId expand(graph::GraphBuilder& builder, std::span<const ValueId> inputs,
                 const ExpandContext& context) const override {
    const ValueId y = builder.add(graph::OpKind::global_pool, graph::GlobalPoolAttributes{is_max_},
                                  {inputs[0]}, context.path);
    if (!keep_axes_) return y;
    const Shape flat = builder.shape(y);  // (n, c)
    return builder.add_shaped(graph::OpKind::reshape, graph::NoAttributes{}, {y},
                              Shape{flat[0], 1, 1, flat[1]}, context.path);
  }

  json config() const override {
    json config = base_config();
    config["keepdims"] = keep_axes_;
    config["data_format"] = "channels_last";
    return config;
  }

 private:
  bool is_max_, keep_axes_;
};

}  // namespace

std::unique_ptr<Layer> make_max_pooling2d(ConfigReader& reader) {
  return std::make_unique<PoolingLayer>(reader, true);
}

std::unique_ptr<Layer> make_average_pooling2d(ConfigReader& reader) {
  return std::make_unique<PoolingLayer>(reader, false);
}

std::unique_ptr<Layer> make_global_max_pooling2d(ConfigReader& reader) {
  return std::make_unique<GlobalPoolingLayer>(reader, true);
}

std::unique_ptr<Layer> make_global_average_pooling2d(ConfigReader& reader) {
  return std::make_unique<GlobalPoolingLayer>(reader, false);
}

}  // namespace stoker::keras
