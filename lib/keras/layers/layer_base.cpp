#include "lib/keras/layers/layer_base.h"

#include <utility>

#include "lib/base/error.h"

namespace stoker::keras {

bool too_large(const Shape& shape) {
  double elements = 1;
  for (const std::int64_t size : shape.dims()) elements *= static_cast<double>(size);
  return elements > 0x1p40;
}

LayerBase::LayerBase(const ConfigReader& reader) : where_(reader.where()) {
  name = reader.name();
  trainable = reader.trainable();
}

LayerBase::LayerBase(std::string layer_name, std::string where) : where_(std::move(where)) {
  name = std::move(layer_name);
}

nlohmann::json LayerBase::base_config() const {
  return {{"name", name}, {"trainable", trainable}, {"dtype", "float32"}};
}

void LayerBase::check_weight(const WeightSpec& spec) const {
  const std::string& initializer = spec.initializer.name;
  const std::string weight = "a weight of shape " + to_string(spec.shape) + ", " + spec.name;
  if (too_large(spec.shape)) misfit(weight, "use a smaller layer");
  const bool fits = initializer == "Identity"     ? spec.shape.rank() == 2
                    : initializer == "Orthogonal" ? spec.shape.rank() >= 2
                                                  : true;
  if (!fits) misfit(initializer + " for " + weight, "use another initializer");
}

void LayerBase::set_weights(std::vector<WeightSpec> specs) {
  if (!built_) {
    for (const WeightSpec& spec : specs) check_weight(spec);
    weights_ = std::move(specs);
    built_ = true;
    return;
  }
  for (std::size_t k = 0; k < weights_.size(); ++k) {
    if (weights_[k].shape == specs[k].shape) continue;
    misfit("a shared layer called on inputs that need " + weights_[k].name + " of shapes " +
               to_string(weights_[k].shape) + " and " + to_string(specs[k].shape),
           "call it on inputs of one shape");
  }
}

const Shape& LayerBase::only_input(std::span<const Shape> inputs) const {
  if (inputs.size() != 1) {
    misfit("a layer of one input called on " + std::to_string(inputs.size()), "give it one tensor");
  }
  return inputs[0];
}

const Shape& LayerBase::only_image(std::span<const Shape> inputs) const {
  const Shape& input = only_input(inputs);
  if (input.rank() != 3) {
    misfit("an input of shape " + to_string(input) + " a sample",
           "give it images of height, width and channels");
  }
  return input;
}

void LayerBase::misfit(std::string_view what, std::string_view what_to_do) const {
  throw UserError(what, where_, what_to_do);
}

graph::ValueId LayerBase::parameter(graph::GraphBuilder& builder, const ExpandContext& context, std::size_t k,
                                    const Shape& shape) const {
  return builder.parameter(context.weights[k], shape, context.path + "/" + weights_[k].name);
}

graph::ValueId LayerBase::parameter(graph::GraphBuilder& builder, const ExpandContext& context,
                                    std::size_t k) const {
  return parameter(builder, context, k, weights_[k].shape);
}

}  // namespace stoker::keras
