// Layers of several inputs: element-wise ones, and Concatenate.
#include <algorithm>

#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"

namespace stoker::keras {

using graph::BinaryKind;
using nlohmann::json;

namespace {

struct MergeKind {
  std::string_view class_name;
  BinaryKind binary;
};
// Average is a sum that is scaled afterwards.
const MergeKind kMerges[] = {
    {"Add", BinaryKind::add},           {"Average", BinaryKind::add},     {"Subtract", BinaryKind::subtract},
    {"Multiply", BinaryKind::multiply}, {"Maximum", BinaryKind::maximum}, {"Minimum", BinaryKind::minimum},
};

class MergeLayer final : public LayerBase {
 public:
  MergeLayer(const ConfigReader& reader, const MergeKind& kind)
      : LayerBase(reader), kind_(kind.binary), average_(kind.class_name == "Average") {}

  Shape build(std::span<const Shape> inputs) override {
    if (inputs.size() < 2 || (kind_ == BinaryKind::subtract && inputs.size() != 2)) {
      misfit("called on " + std::to_string(inputs.size()) + " inputs",
             kind_ == BinaryKind::subtract ? "give it two tensors" : "give it two tensors or more");
    }
    Shape output = inputs[0];
    for (const Shape& input : inputs.subspan(1)) {
      bool fits = input.rank() == output.rank();
      for (std::size_t axis = 0; fits && axis < input.rank(); ++axis) {
        fits = input[axis] == output[axis] || input[axis] == 1 || output[axis] == 1;
        output[axis] = std::max(output[axis], input[axis]);
      }
      if (!fits) {
        misfit("inputs of shapes " + to_string(inputs[0]) + " and " + to_string(input),
               "make all axes equal, or 1");
      }
    }
    return output;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    graph::ValueId y = inputs[0];
    for (const graph::ValueId x : inputs.subspan(1)) {
      y = builder.add(graph::OpKind::binary, graph::BinaryAttributes{kind_, {}}, {y, x}, context.path);
    }
    if (!average_) return y;
    const float factor = 1.0f / static_cast<float>(inputs.size());
    return builder.add(graph::OpKind::scale, graph::ScaleAttributes{factor}, {y}, context.path);
  }

  json config() const override { return base_config(); }

 private:
  BinaryKind kind_;
  bool average_;
};

class ConcatenateLayer final : public LayerBase {
 public:
  explicit ConcatenateLayer(ConfigReader& reader) : LayerBase(reader), axis_(reader.integer("axis", -1)) {
    if (axis_ == 0) reader.refuse("axis", axis_, "samples cannot be joined: use another axis");
  }

  Shape build(std::span<const Shape> inputs) override {
    if (inputs.size() < 2) misfit("called on one input", "give it two tensors or more");
    const std::size_t axis = axis_in(inputs[0].rank() + 1);
    Shape output = inputs[0];
    output[axis - 1] = 0;
    for (const Shape& input : inputs) {
      bool fits = input.rank() == output.rank();
      for (std::size_t a = 0; fits && a < input.rank(); ++a) fits = a == axis - 1 || input[a] == output[a];
      if (!fits) {
        misfit("inputs of shapes " + to_string(inputs[0]) + " and " + to_string(input),
               "make all axes but the joined one equal");
      }
      output[axis - 1] += input[axis - 1];
    }
    return output;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    const std::size_t axis = axis_in(builder.shape(inputs[0]).rank());
    return builder.add(graph::OpKind::concat, graph::ConcatAttributes{axis}, {inputs.begin(), inputs.end()},
                       context.path);
  }

  json config() const override {
    json config = base_config();
    config["axis"] = axis_;
    return config;
  }

 private:
  // The axis as a number ≥ 1; `rank` counts the batch axis, as Keras' axis does.
  std::size_t axis_in(std::size_t rank) const {
    const std::int64_t axis = axis_ < 0 ? axis_ + static_cast<std::int64_t>(rank) : axis_;
    if (axis < 1 || axis >= static_cast<std::int64_t>(rank)) {
      misfit("axis=" + std::to_string(axis_) + " of a tensor of " + std::to_string(rank) + " axes",
             "use an axis after the batch axis, e.g. -1");
    }
    return static_cast<std::size_t>(axis);
  }

  std::int64_t axis_;
};

}  // namespace

std::unique_ptr<Layer> make_merge(ConfigReader& reader) {
  const auto kind = std::find_if(std::begin(kMerges), std::end(kMerges),
                                 [&](const MergeKind& k) { return k.class_name == reader.class_name(); });
  if (kind == std::end(kMerges)) reader.fail("unknown layer", "use Add, Multiply, Average, …");
  return std::make_unique<MergeLayer>(reader, *kind);
}

std::unique_ptr<Layer> make_concatenate(ConfigReader& reader) {
  return std::make_unique<ConcatenateLayer>(reader);
}

}  // namespace stoker::keras
