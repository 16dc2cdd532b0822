#include "lib/keras/losses_metrics.h"

#include "tests/unit/keras/keras_testing.h"

namespace stoker::keras {
namespace {

using graph::LossKind;
using graph::MetricKind;
using nlohmann::json;

Model model_with(int units, const std::string& activation, const json& training_config = nullptr) {
  json out = dense_config("out", {}, units);
  out["config"]["activation"] = activation;
  Model model = model_from_json(sequential({input_config("x", {nullptr, 4}), out}), "m.keras", 0);
  if (!training_config.is_null()) model.training_config = training_config;
  return model;
}

const TargetDescription kLabels{true, {}, 3, "data"};
TargetDescription numbers(const Shape& shape) { return {false, shape, 0, "data"}; }

Objective resolve(const Model& model, const TargetDescription& target,
                  const std::optional<std::string>& loss = {},
                  const std::optional<std::vector<std::string>>& metrics = {}) {
  return resolve_objective(model, target, loss, metrics);
}

TEST(Losses, OptionsAndAliases) {
  const Model labels = model_with(3, "linear"), vector = model_with(3, "softmax");
  const auto text = [&](const std::string& option) {
    const bool sparse = option[0] == 's' || option[0] == 'S';
    return resolve(sparse ? labels : vector, sparse ? kLabels : numbers({3}), option).loss_text;
  };
  EXPECT_EQ(text("mse"), "mean_squared_error");
  EXPECT_EQ(text("MeanSquaredError"), "mean_squared_error");
  EXPECT_EQ(text("MAE"), "mean_absolute_error");
  EXPECT_EQ(text("huber:delta=0.3"), "huber:delta=0.3");
  EXPECT_EQ(text("huber:delta=1"), "huber");
  EXPECT_EQ(text("SparseCategoricalCrossentropy:from_logits=True"),
            "sparse_categorical_crossentropy:from_logits=true");
  EXPECT_EQ(text("categorical_crossentropy:label_smoothing=0.1,from_logits=false"),
            "categorical_crossentropy:label_smoothing=0.1");
  EXPECT_EQ(text("binary_crossentropy:reduction=sum_over_batch_size"), "binary_crossentropy");
}

TEST(Losses, WhatIsNotHonouredIsRefused) {
  const Model model = model_with(3, "softmax");
  const auto error = [&](const std::string& option) {
    return user_error([&] { resolve(model, option[0] == 's' ? kLabels : numbers({3}), option); });
  };
  EXPECT_SAYS(error("kl_divergence"), "unknown loss kl_divergence");
  EXPECT_SAYS(error("mse:from_logits=true"), "no option from_logits");
  EXPECT_SAYS(error("categorical_crossentropy:reduction=sum"), "reduction=\"sum\"");
  EXPECT_SAYS(error("categorical_crossentropy:label_smoothing=2"), "label_smoothing=2");
  EXPECT_SAYS(error("sparse_categorical_crossentropy:ignore_class=0"), "ignore_class=0");
  EXPECT_SAYS(error("sparse_categorical_crossentropy:from_logits=maybe"), "from_logits=\"maybe\"");
}

TEST(Losses, TheFormsOfTheTrainingConfiguration) {
  const json object = {{"class_name", "CategoricalCrossentropy"},
                       {"config",
                        {{"reduction", "auto"},
                         {"name", "c"},
                         {"from_logits", false},
                         {"label_smoothing", 0.25},
                         {"axis", -1},
                         {"fn", "categorical_crossentropy"}}}};
  for (const json& loss : {object, json::array({object}), json{{"out", object}}}) {
    const Objective objective = resolve(model_with(3, "softmax", {{"loss", loss}}), numbers({3}));
    EXPECT_EQ(objective.loss_text, "categorical_crossentropy:label_smoothing=0.25");
    EXPECT_EQ(objective.how, "the model file");
  }
  EXPECT_EQ(resolve(model_with(3, "softmax", {{"loss", "mse"}}), numbers({3})).loss.kind,
            LossKind::mean_squared_error);
  EXPECT_EQ(
      resolve(model_with(3, "softmax", {{"loss", "mse"}}), kLabels, "sparse_categorical_crossentropy").how,
      "--loss");
  const auto error = [](const json& config) {
    return user_error([&] { resolve(model_with(3, "softmax", config), numbers({3})); });
  };
  EXPECT_SAYS(error({{"loss", {"mse", "mae"}}}), "2 losses");
  EXPECT_SAYS(error({{"loss", "mse"}, {"loss_weights", {2.0}}}), "loss_weights");
  EXPECT_SAYS(error({{"loss", "poisson"}}), "unknown loss poisson: m.keras");
}

TEST(Losses, ChosenFromOutputAndTargets) {
  const auto chosen = [](int units, const std::string& activation, const TargetDescription& target) {
    const Objective objective = resolve(model_with(units, activation), target);
    EXPECT_EQ(objective.how.substr(0, 8), "chosen: ");
    return objective.loss_text;
  };
  EXPECT_EQ(chosen(3, "softmax", kLabels), "sparse_categorical_crossentropy");
  EXPECT_EQ(chosen(3, "linear", kLabels), "sparse_categorical_crossentropy:from_logits=true");
  EXPECT_EQ(chosen(3, "softmax", numbers({3})), "categorical_crossentropy");
  EXPECT_EQ(chosen(3, "sigmoid", numbers({3})), "binary_crossentropy");
  EXPECT_EQ(chosen(1, "sigmoid", kLabels), "binary_crossentropy");
  EXPECT_EQ(chosen(1, "linear", numbers({1})), "mean_squared_error");
}

TEST(Losses, TargetsMustFit) {
  const Model model = model_with(3, "softmax");
  const auto error = [&](const TargetDescription& target, const std::string& loss) {
    return user_error([&] { resolve(model, target, loss); });
  };
  EXPECT_SAYS(error(numbers({}), "sparse_categorical_crossentropy"), "labels are floats: data");
  EXPECT_SAYS(error(numbers({3}), "sparse_categorical_crossentropy"), "one class number a sample");
  EXPECT_SAYS(error(kLabels, "categorical_crossentropy"), "use sparse_categorical_crossentropy");
  EXPECT_SAYS(error(numbers({4}), "mse"), "targets have shape (4,), the model's output (3,)");
  EXPECT_SAYS(
      user_error([&] { resolve(model_with(1, "sigmoid"), kLabels, "sparse_categorical_crossentropy"); }),
      "one score a class");
  const Objective sparse = resolve(model, kLabels);
  EXPECT_TRUE(sparse.label_targets);
  EXPECT_EQ(sparse.classes, 3);
  EXPECT_EQ(sparse.target_shape, Shape{});
  const Objective single = resolve(model_with(1, "linear"), numbers({}));
  EXPECT_FALSE(single.label_targets);
  EXPECT_EQ(single.target_shape, Shape{1});
}

TEST(Metrics, AccuracyGoesByShape) {
  const auto kind = [](int units, const TargetDescription& target, const std::string& loss,
                       const std::string& metric) {
    return resolve(model_with(units, "linear"), target, loss, {{metric}}).metrics.at(0).attributes.kind;
  };
  EXPECT_EQ(kind(3, kLabels, "sparse_categorical_crossentropy", "accuracy"),
            MetricKind::sparse_categorical_accuracy);
  EXPECT_EQ(kind(3, numbers({3}), "mse", "acc"), MetricKind::categorical_accuracy);
  EXPECT_EQ(kind(1, numbers({}), "mse", "accuracy"), MetricKind::binary_accuracy);
  EXPECT_EQ(kind(3, numbers({3}), "binary_crossentropy", "binary_accuracy"), MetricKind::binary_accuracy);
  EXPECT_EQ(kind(3, kLabels, "sparse_categorical_crossentropy", "top5"),
            MetricKind::sparse_top_k_categorical_accuracy);
  EXPECT_EQ(kind(3, numbers({3}), "mse", "top_k:k=2"), MetricKind::top_k_categorical_accuracy);
}

TEST(Metrics, OptionsAndRefusals) {
  const Model model = model_with(3, "softmax");
  const Objective objective = resolve(model, kLabels, {}, {{"accuracy", "top_k:k=2", "accuracy"}});
  ASSERT_EQ(objective.metrics.size(), 2u);
  EXPECT_EQ(objective.metrics[0].name, "accuracy");
  EXPECT_EQ(objective.metrics[0].resolved, "sparse_categorical_accuracy");
  EXPECT_EQ(objective.metrics[1].resolved, "sparse_top_k_categorical_accuracy:k=2");
  const auto error = [&](const std::string& metric) {
    return user_error([&] { resolve(model, kLabels, {}, {{metric}}); });
  };
  EXPECT_SAYS(error("auc"), "unknown metric auc");
  EXPECT_SAYS(error("categorical_accuracy"), "targets of the output's shape, the targets are class numbers");
  EXPECT_SAYS(error("top_k:k=0"), "k=0");
  EXPECT_SAYS(error("accuracy:k=2"), "no option k");
}

TEST(Metrics, TheFormsOfTheTrainingConfiguration) {
  const json keras2 = json::parse(R"([[{"class_name": "MeanMetricWrapper",
      "config": {"name": "accuracy", "dtype": "float32", "fn": "sparse_categorical_accuracy"}},
      {"class_name": "SparseTopKCategoricalAccuracy", "config": {"name": "top2", "dtype": "float32", "k": 2}}]])");
  Objective objective = resolve(
      model_with(3, "softmax", {{"loss", "sparse_categorical_crossentropy"}, {"metrics", keras2}}), kLabels);
  ASSERT_EQ(objective.metrics.size(), 2u);
  EXPECT_EQ(objective.metrics[0].name, "accuracy");
  EXPECT_EQ(objective.metrics[1].name, "top2");
  EXPECT_EQ(objective.metrics[1].attributes.k, 2);
  objective =
      resolve(model_with(3, "softmax",
                         {{"loss", "mse"}, {"metrics", {"mae", "AUC"}}, {"weighted_metrics", {"accuracy"}}}),
              numbers({3}));
  ASSERT_EQ(objective.metrics.size(), 2u);  // AUC is left out with a warning
  EXPECT_EQ(objective.metrics[0].name, "mae");
  EXPECT_EQ(objective.metrics[1].resolved, "categorical_accuracy");
}

TEST(Optimizers, OfTheTrainingConfiguration) {
  EXPECT_EQ(file_optimizer(model_with(3, "softmax")), std::nullopt);
  EXPECT_EQ((*file_optimizer(model_with(3, "softmax", {{"optimizer", "adam"}})))["class_name"], "adam");
  const json sgd = {{"class_name", "Custom>SGD"}, {"config", {{"learning_rate", 0.1}}}};
  EXPECT_EQ(file_optimizer(model_with(3, "softmax", {{"optimizer_config", sgd}})), sgd);
}

}  // namespace
}  // namespace stoker::keras
