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
    bool valid = target.is_array();
    int unknown = 0;
    for (const json& size : target) {
      valid = valid && size.is_number_integer() && (size.get<std::int64_t>() >= 1 || size == -1);
      if (!valid) break;
      unknown += size == -1 ? 1 : 0;
      target_.push_back(size.get<std::int64_t>());
    }
    if (!valid || unknown > 1) {
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

}  // namespace

std::unique_ptr<Layer> make_flatten(ConfigReader& reader) { return std::make_unique<FlattenLayer>(reader); }
std::unique_ptr<Layer> make_reshape(ConfigReader& reader) { return std::make_unique<ReshapeLayer>(reader); }

}  // namespace stoker::keras
