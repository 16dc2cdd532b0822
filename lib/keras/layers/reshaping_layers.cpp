// Layers that only move numbers: Flatten, Reshape, Identity, ZeroPadding2D, Cropping2D.
#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

class FlattenLayer final : public LayerBase {
 public:
  explicit FlattenLayer(const ConfigReader& reader) : LayerBase(reader) {}

  Shape build(std::span<const Shape> inputs) override { return Shape{only_input(inputs).elements()}; }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    const Shape& input = builder.shape(inputs[0]);
    const Shape flat{input[0], input.elements() / input[0]};
    return builder.add_shaped(graph::OpKind::reshape, graph::NoAttributes{}, {inputs[0]}, flat, context.path);
  }

  json config() const override {
    json config = base_config();
    config["data_format"] = "channels_last";
    return config;
  }
};

class ReshapeLayer final : public LayerBase {
 public:
  explicit ReshapeLayer(ConfigReader& reader) : LayerBase(reader) {
    const json& target = reader.take("target_shape");
    std::vector<std::int64_t> known;
    bool valid = target.is_array();
    for (const json& value : valid ? target : json::array()) {
      const auto size = whole_number(value);
      valid = valid && size && (*size >= 1 || *size == -1);
      target_.push_back(size.value_or(0));
      if (target_.back() != -1) known.push_back(target_.back());
    }
    if (!valid || known.size() + 1 < target_.size() || too_large(Shape(known))) {
      reader.refuse("target_shape", target, "give sizes of at least 1, at most one of them -1");
    }
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_input(inputs);
    std::int64_t known = 1;
    for (const std::int64_t size : target_) known *= size == -1 ? 1 : size;
    std::vector<std::int64_t> dims = target_;
    for (std::int64_t& size : dims) {
      if (size == -1) size = input.elements() / known;
    }
    Shape output(std::move(dims));
    if (output.elements() != input.elements()) {
      misfit("an input of shape " + to_string(input) + " cannot become " + brief(json(target_)),
             "the numbers of elements must be equal");
    }
    return output;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    const Shape& input = builder.shape(inputs[0]);
    std::int64_t known = input[0];
    for (const std::int64_t size : target_) known *= size == -1 ? 1 : size;
    std::vector<std::int64_t> dims{input[0]};
    for (const std::int64_t size : target_) dims.push_back(size == -1 ? input.elements() / known : size);
    return builder.add_shaped(graph::OpKind::reshape, graph::NoAttributes{}, {inputs[0]},
                              Shape(std::move(dims)), context.path);
  }

  json config() const override {
    json config = base_config();
    config["target_shape"] = target_;
    return config;
  }

 private:
  std::vector<std::int64_t> target_;
};

class IdentityLayer final : public LayerBase {
 public:
  explicit IdentityLayer(const ConfigReader& reader) : LayerBase(reader) {}

  Shape build(std::span<const Shape> inputs) override { return only_input(inputs); }
  graph::ValueId expand(graph::GraphBuilder&, std::span<const graph::ValueId> inputs,
                        const ExpandContext&) const override {
    return inputs[0];
  }
  json config() const override { return base_config(); }
};

// k, [vertical, horizontal] or [[top, bottom], [left, right]], each ≥ 0.
graph::Padding2D read_margins(ConfigReader& reader, const std::string& key, std::int64_t fallback) {
  json value = reader.take(key);
  if (value.is_null()) value = fallback;
  if (!value.is_array()) value = json::array({value, value});
  std::vector<std::int64_t> sides;
  for (const json& axis : value) {
    const json pair = axis.is_array() ? axis : json::array({axis, axis});
    for (const json& side : pair) {
      const auto size = whole_number(side);
      if (pair.size() != 2 || !size || *size < 0) {
        reader.refuse(key, value, "give whole numbers of at least 0: k, [v, h] or [[t, b], [l, r]]");
      }
      sides.push_back(*size);
    }
  }
  if (sides.size() != 4) reader.refuse(key, value, "give k, [v, h] or [[t, b], [l, r]]");
  return {sides[0], sides[1], sides[2], sides[3]};
}

json margins_config(const graph::Padding2D& margins) {
  return json::array({{margins.top, margins.bottom}, {margins.left, margins.right}});
}

class ZeroPaddingLayer final : public LayerBase {
 public:
  explicit ZeroPaddingLayer(ConfigReader& reader)
      : LayerBase(reader), margins_(read_margins(reader, "padding", 1)) {}

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_image(inputs);
    return Shape{input[0] + margins_.top + margins_.bottom, input[1] + margins_.left + margins_.right,
                 input[2]};
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    return builder.add(graph::OpKind::pad2d, margins_, {inputs[0]}, context.path);
  }

  json config() const override {
    json config = base_config();
    config["padding"] = margins_config(margins_);
    config["data_format"] = "channels_last";
    return config;
  }

 private:
  graph::Padding2D margins_;
};

class CroppingLayer final : public LayerBase {
 public:
  explicit CroppingLayer(ConfigReader& reader)
      : LayerBase(reader), margins_(read_margins(reader, "cropping", 0)) {}

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_image(inputs);
    const Shape output = cropped(input);
    if (output[0] < 1 || output[1] < 1) {
      misfit("nothing is left of an input of shape " + to_string(input), "crop less");
    }
    return output;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    const Shape& input = builder.shape(inputs[0]);
    const Shape output = cropped(input.without_batch()).with_batch(input[0]);
    const graph::SliceAttributes window{{0, margins_.top, margins_.left, 0}, output.dims()};
    return builder.add(graph::OpKind::slice, window, {inputs[0]}, context.path);
  }

  json config() const override {
    json config = base_config();
    config["cropping"] = margins_config(margins_);
    config["data_format"] = "channels_last";
    return config;
  }

 private:
  Shape cropped(const Shape& image) const {
    return {image[0] - margins_.top - margins_.bottom, image[1] - margins_.left - margins_.right, image[2]};
  }

  graph::Padding2D margins_;
};

}  // namespace

std::unique_ptr<Layer> make_flatten(ConfigReader& reader) { return std::make_unique<FlattenLayer>(reader); }
std::unique_ptr<Layer> make_reshape(ConfigReader& reader) { return std::make_unique<ReshapeLayer>(reader); }
std::unique_ptr<Layer> make_identity(ConfigReader& reader) { return std::make_unique<IdentityLayer>(reader); }

std::unique_ptr<Layer> make_zero_padding2d(ConfigReader& reader) {
  return std::make_unique<ZeroPaddingLayer>(reader);
}

std::unique_ptr<Layer> make_cropping2d(ConfigReader& reader) {
  return std::make_unique<CroppingLayer>(reader);
}

}  // namespace stoker::keras
