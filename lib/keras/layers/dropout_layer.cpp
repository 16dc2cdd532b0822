#include "lib/keras/layers/layer_base.h"
#include "lib/keras/layers/layer_classes.h"

namespace stoker::keras {

namespace {

// The run's seed rules, not the config's: the mask depends on the step and the sample's leaf
// (lib/graph/random.h).
class DropoutLayer final : public LayerBase {
 public:
  explicit DropoutLayer(ConfigReader& reader) : LayerBase(reader), rate_(reader.number("rate")) {
    if (rate_ < 0 || rate_ >= 1) reader.refuse("rate", rate_, "give a number from 0 to below 1");
  }

  Shape build(std::span<const Shape> inputs) override { return only_input(inputs); }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    if (!context.training || rate_ == 0) return inputs[0];
    const graph::DropoutAttributes attributes{static_cast<float>(rate_), context.layer, context.call};
    return builder.add(graph::OpKind::dropout, attributes, {inputs[0]}, context.path);
  }

  nlohmann::json config() const override {
    nlohmann::json config = base_config();
    config["rate"] = rate_;
    config["seed"] = nullptr;
    config["noise_shape"] = nullptr;
    return config;
  }

 private:
  double rate_;
};

}  // namespace

std::unique_ptr<Layer> make_dropout(ConfigReader& reader) { return std::make_unique<DropoutLayer>(reader); }

}  // namespace stoker::keras
