// Helpers for the tests of layers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/error.h"
#include "lib/keras/layer.h"

namespace stoker::keras {

// A layer called "l" of a file called "m.json".
inline std::unique_ptr<Layer> make(const std::string& class_name,
                                   nlohmann::json config = nlohmann::json::object(), int keras_major = 3) {
  if (!config.contains("name")) config["name"] = "l";
  return make_layer({{"class_name", class_name}, {"config", config}}, {"m.json", keras_major});
}

// The message of the UserError that a call throws; "" if it throws none.
template <typename Function>
std::string error_of(Function function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

inline std::string make_error(const std::string& class_name, const nlohmann::json& config) {
  return error_of([&] { make(class_name, config); });
}

inline Shape build(Layer& layer, std::vector<Shape> inputs) { return layer.build(inputs); }

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What a layer writes must read back as the same layer.
inline void expect_round_trip(const Layer& layer) {
  const nlohmann::json config = layer.config();
  const auto again = make_layer({{"class_name", layer.class_name}, {"config", config}}, {"m.json", 3});
  EXPECT_EQ(again->config(), config) << layer.class_name;
  EXPECT_EQ(again->name, layer.name);
  EXPECT_EQ(again->trainable, layer.trainable);
}

}  // namespace stoker::keras
