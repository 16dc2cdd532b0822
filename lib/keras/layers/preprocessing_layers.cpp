#include "lib/keras/layers/preprocessing_layers.h"

#include <algorithm>
#include <cmath>

#include "lib/keras/layers/layer_base.h"

namespace stoker::keras {

using nlohmann::json;

namespace {

// All numbers of nested lists in their order: Keras writes one number a channel as [[1, 2, 3]] too.
bool collect_numbers(const json& value, std::vector<double>& numbers) {
  if (value.is_number()) {
    numbers.push_back(value.get<double>());
    return std::isfinite(numbers.back());
  }
  return value.is_array() && !value.empty() &&
         std::all_of(value.begin(), value.end(),
                     [&](const json& inner) { return collect_numbers(inner, numbers); });
}

std::vector<double> read_numbers(ConfigReader& reader, const std::string& key, double fallback) {
  const json& value = reader.take(key);
  if (value.is_null()) return {fallback};
  std::vector<double> numbers;
  if (!collect_numbers(value, numbers)) reader.refuse(key, value, "give finite numbers");
  return numbers;
}

// One number is written without a list.
json numbers_config(const std::vector<double>& numbers) {
  return numbers.size() == 1 ? json(numbers[0]) : json(numbers);
}

std::vector<float> to_floats(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

class RescalingLayer final : public LayerBase {
 public:
  explicit RescalingLayer(ConfigReader& reader)
      : LayerBase(reader),
        scale_(read_numbers(reader, "scale", 1.0)),
        offset_(read_numbers(reader, "offset", 0.0)) {}
  RescalingLayer(const std::string& layer_name, double scale, double offset, const std::string& place)
      : LayerBase(layer_name, place), scale_{scale}, offset_{offset} {
    class_name = "Rescaling";
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_input(inputs);
    const std::size_t channels = input.rank() == 0 ? 1 : static_cast<std::size_t>(input.back());
    for (const auto* numbers : {&scale_, &offset_}) {
      if (numbers->size() == 1 || numbers->size() == channels) continue;
      misfit("scale or offset of " + std::to_string(numbers->size()) + " numbers for an input of shape " +
                 to_string(input),
             "give one number, or one a channel");
    }
    return input;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    const graph::ValueId scale = builder.constant(to_floats(scale_), context.path + "/scale");
    const bool shifted = std::any_of(offset_.begin(), offset_.end(), [](double x) { return x != 0; });
    const graph::ValueId offset =
        shifted ? builder.constant(to_floats(offset_), context.path + "/offset") : graph::kNoValue;
    return builder.add(graph::OpKind::affine, graph::NoAttributes{},
                       {inputs[0], graph::kNoValue, scale, offset}, context.path);
  }

  json config() const override {
    json config = base_config();
    config["scale"] = numbers_config(scale_);
    config["offset"] = numbers_config(offset_);
    return config;
  }

 private:
  std::vector<double> scale_, offset_;
};

class NormalizationLayer final : public LayerBase {
 public:
  explicit NormalizationLayer(ConfigReader& reader) : LayerBase(reader) {
    if (reader.boolean("invert", false)) reader.refuse("invert", true, "undo the scaling outside the model");
    read_axis(reader);
    if (reader.has("mean") != reader.has("variance")) {
      reader.fail("only one of mean and variance", "give both or none");
    }
    mean_ = read_numbers(reader, "mean", 0.0);
    variance_ = read_numbers(reader, "variance", 1.0);
    if (std::any_of(variance_.begin(), variance_.end(), [](double v) { return v < 0; })) {
      reader.refuse("variance", variance_, "give numbers of at least 0");
    }
  }

  Shape build(std::span<const Shape> inputs) override {
    const Shape& input = only_input(inputs);
    if (by_channel_ && input.rank() == 0) misfit("an input without axes a sample", "use axis=None");
    if (by_channel_ && axis_ != -1 && axis_ != static_cast<std::int64_t>(input.rank())) {
      misfit("unsupported value axis=" + std::to_string(axis_), "use the last axis, -1, or None");
    }
    const std::size_t numbers = by_channel_ ? static_cast<std::size_t>(input.back()) : 1;
    for (auto* values : {&mean_, &variance_}) {
      if (values->size() == 1) values->assign(numbers, values->front());
      if (values->size() == numbers) continue;
      misfit("mean or variance of " + std::to_string(values->size()) + " numbers for an input of shape " +
                 to_string(input),
             "give one number a channel");
    }
    return input;
  }

  graph::ValueId expand(graph::GraphBuilder& builder, std::span<const graph::ValueId> inputs,
                        const ExpandContext& context) const override {
    std::vector<float> scale;
    for (const double variance : variance_) {
      scale.push_back(static_cast<float>(1.0 / std::max(std::sqrt(variance), 1e-7)));
    }
    const graph::ValueId mean = builder.constant(to_floats(mean_), context.path + "/mean");
    const graph::ValueId factor = builder.constant(std::move(scale), context.path + "/scale");
    return builder.add(graph::OpKind::affine, graph::NoAttributes{},
                       {inputs[0], mean, factor, graph::kNoValue}, context.path);
  }

  json config() const override {
    json config = base_config();
    config["axis"] = by_channel_ ? json::array({axis_}) : json();
    config["invert"] = false;
    config["mean"] = by_channel_ ? json(mean_) : json(mean_[0]);
    config["variance"] = by_channel_ ? json(variance_) : json(variance_[0]);
    return config;
  }

  // mean, variance, count. A layer with mean and variance in its config has no weights.
  bool adopt_file_weights(std::span<const std::vector<float>> weights) override {
    if (weights.empty()) return true;
    if (weights.size() != 3 || weights[0].empty() || weights[0].size() != weights[1].size() ||
        (mean_.size() > 1 && weights[0].size() != mean_.size())) {
      misfit("weights that are not mean, variance and count", "save the model again with Keras");
    }
    const auto widen = [](float value) { return shortest(value); };
    mean_.clear();
    variance_.clear();
    std::transform(weights[0].begin(), weights[0].end(), std::back_inserter(mean_), widen);
    std::transform(weights[1].begin(), weights[1].end(), std::back_inserter(variance_), widen);
    return true;
  }

 private:
  // −1 or [−1]; null or []: one mean over all axes. An absent key is −1.
  void read_axis(ConfigReader& reader) {
    if (!reader.present("axis")) return;
    json axis = reader.take("axis");
    if (axis.is_number_integer()) axis = json::array({axis});
    by_channel_ = !axis.empty();  // a null is empty too
    if (!by_channel_) return;
    if (!axis.is_array() || axis.size() != 1 || !axis[0].is_number_integer()) {
      reader.refuse("axis", axis, "use the last axis, -1, or None");
    }
    axis_ = axis[0].get<std::int64_t>();
  }

  bool by_channel_ = true;  // else one mean and variance for all
  std::int64_t axis_ = -1;
  std::vector<double> mean_, variance_;
};

}  // namespace

std::unique_ptr<Layer> make_rescaling_layer(ConfigReader& reader) {
  return std::make_unique<RescalingLayer>(reader);
}

std::unique_ptr<Layer> make_rescaling(const std::string& name, double scale, double offset,
                                      const std::string& where) {
  return std::make_unique<RescalingLayer>(name, scale, offset, where);
}

std::unique_ptr<Layer> make_normalization(ConfigReader& reader) {
  return std::make_unique<NormalizationLayer>(reader);
}

}  // namespace stoker::keras
