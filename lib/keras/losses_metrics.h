// The objective of a training or an evaluation: which loss, which metrics, and what the targets look like.
//
// Sources, first that says something: the options (--loss, --metrics), the file's training_config (Keras 2
// and 3 forms), what the model was trained with here (Model::trained_with), else a
// choice from the output layer and the labels, which `how` puts in words. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/graph/op.h"
#include "lib/keras/model.h"
#include "lib/tensor/shape.h"

namespace stoker::keras {

// What the data have to offer.
struct TargetDescription {
  bool integer_labels = true;  // one whole number a sample; else numbers
  Shape shape;                 // of one sample: () or (1) for one number
  std::int64_t classes = 0;    // 0: not known
  std::string where;           // the data's name, for messages
};

struct Metric {
  std::string name;  // "accuracy": as the user wrote it, and as lines show it
  graph::MetricAttributes attributes;
  std::string resolved;  // "sparse_categorical_accuracy": what run.json says
};

struct Objective {
  graph::LossAttributes loss;
  std::string loss_text;  // canonical: "sparse_categorical_crossentropy:from_logits=true"
  std::string how;        // "--loss", "the model file", "chosen: softmax output and integer labels"
  std::vector<Metric> metrics;
  bool label_targets = true;  // int32 labels (n); else fp32 (n, target_shape)
  Shape target_shape;         // without the batch axis; () for labels
  std::int64_t classes = 0;   // labels must lie in [0, classes); 0: no such limit
};

// Throws UserError: unknown names or keys, an option of a loss that is not honoured, targets that fit neither
// loss nor output (float labels for a sparse loss, a shape that the output does not have).
Objective resolve_objective(const Model& model, const TargetDescription& target,
                            const std::optional<std::string>& loss,
                            const std::optional<std::vector<std::string>>& metrics);

// The optimizer of the file's training_config as {"class_name", "config"}, if it has one.
std::optional<nlohmann::json> file_optimizer(const Model& model);

}  // namespace stoker::keras
