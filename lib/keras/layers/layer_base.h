// What all layer classes share. See lib/keras/layer.h for the interface.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/keras/layer.h"
#include "lib/keras/layers/config_reader.h"

namespace stoker::keras {

// Whether a shape has more elements than any machine's memory (2^40), without overflow on the way.
bool too_large(const Shape& shape);

class LayerBase : public Layer {
 protected:
  explicit LayerBase(const ConfigReader& reader);
  LayerBase(std::string layer_name, std::string where);  // a layer that comes out of split_activation

  // {"name", "trainable", "dtype"}: the start of every config.
  nlohmann::json base_config() const;

  // The weights of a first build; a later one (a shared layer) must ask for the same shapes.
  void set_weights(std::vector<WeightSpec> specs);

  // The layer's single input; throws UserError when it gets several.
  const Shape& only_input(std::span<const Shape> inputs) const;
  // The same where it must be an image, (height, width, channels).
  const Shape& only_image(std::span<const Shape> inputs) const;
  [[noreturn]] void misfit(std::string_view what, std::string_view what_to_do) const;

  // Parameter k of this call with the shape that the op wants (the same elements as the weight's).
  graph::ValueId parameter(graph::GraphBuilder& builder, const ExpandContext& context, std::size_t k,
                           const Shape& shape) const;
  graph::ValueId parameter(graph::GraphBuilder& builder, const ExpandContext& context, std::size_t k) const;

  const std::string& where() const { return where_; }

 private:
  void check_weight(const WeightSpec& spec) const;

  std::string where_;  // "FILE: layer NAME (Class)"
  bool built_ = false;
};

}  // namespace stoker::keras
