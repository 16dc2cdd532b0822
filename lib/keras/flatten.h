// From the tree of a file to a Model: nested models become their layers, layers get their flat names, their
// shapes and their weights (not yet filled).
#pragma once

#include <memory>
#include <optional>

#include "lib/keras/model.h"
#include "lib/keras/model_tree.h"

namespace stoker::keras {

// Takes the tree over (Model::tree) with TreeLayer::flat set. Weights have empty values. Throws UserError for
// layers that are not supported, shapes that do not fit, and an input shape that neither the file nor
// `data_shape` says.
Model flatten(std::unique_ptr<ModelTree> tree, const ParseContext& context,
              const std::optional<Shape>& data_shape);

}  // namespace stoker::keras
