// The entry of a model: the shape of a sample.
#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"

namespace stoker::keras {

namespace {

class InputLayer final : public LayerBase {
 public:
  InputLayer(const ConfigReader& reader, Shape shape) : LayerBase(reader), shape_(std::move(shape)) {}

  // Without inputs; a Sequential may pass its own input on, which must have this shape.
  Shape build(std::span<const Shape> inputs) override {
    if (!inputs.empty() && only_input(inputs) != shape_) {
      misfit("an input of shape " + to_string(inputs[0]) + " where " + to_string(shape_) + " is declared",
             "make the two shapes the same");
    }
    return shape_;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext&) const override {
    return inputs.empty() ? builder.input(shape_) : inputs[0];
  }

  nlohmann::json config() const override {
    nlohmann::json batch_shape = nlohmann::json::array({nullptr});
    for (const std::int64_t size : shape_.dims()) batch_shape.push_back(size);
    return {{"name", name},
            {"batch_input_shape", batch_shape},
            {"dtype", "float32"},
            {"sparse", false},
            {"ragged", false}};
  }

 private:
  Shape shape_;
};

}  // namespace

std::unique_ptr<Layer> make_input(ConfigReader& reader) {
  const char* key = reader.has("batch_shape") ? "batch_shape" : "batch_input_shape";
  const nlohmann::json& value = reader.take(key);
  if (!value.is_array() || value.empty()) reader.refuse(key, value, "give the shape of a batch");
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 1; axis < value.size(); ++axis) {  // the batch axis may have any size
    const auto size = whole_number(value[axis]);
    if (!size || *size < 1) reader.refuse(key, value, "give every axis but the batch a size of at least 1");
    dims.push_back(*size);
  }
  Shape shape(std::move(dims));
  if (too_large(shape)) reader.refuse(key, value, "give a smaller shape");
  return std::make_unique<InputLayer>(reader, std::move(shape));
}

}  // namespace stoker::keras
