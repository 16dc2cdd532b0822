// What the tests of lib/keras share.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/base/error.h"
#include "lib/keras/model.h"

namespace stoker::keras {

// A path in a folder of this process, which goes with it: runs beside and before this one do not meet it.
inline std::string temporary(const std::string& name) {
  struct Folder {
    std::string path = testing::TempDir() + "/stoker-keras-XXXXXX";
    Folder() {
      if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("mkdtemp");
    }
    ~Folder() { std::filesystem::remove_all(path); }
  };
  static const Folder folder;
  return folder.path + "/" + name;
}

// The message of the UserError that `run` throws; fails the test if it throws none.
inline std::string user_error(const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) {
    return error.what();
  }
  ADD_FAILURE() << "no UserError was thrown";
  return "";
}

#define EXPECT_SAYS(message, part) \
  EXPECT_NE(std::string(message).find(part), std::string::npos) << "in: " << (message)

inline nlohmann::json input_config(const std::string& name, const nlohmann::json& batch_shape) {
  return {{"class_name", "InputLayer"},
          {"name", name},
          {"config", {{"name", name}, {"batch_input_shape", batch_shape}}},
          {"inbound_nodes", nlohmann::json::array()}};
}

// A Dense of a functional model in the Keras 2 dialect, called on each of `inputs` once.
inline nlohmann::json dense_config(const std::string& name, const std::vector<std::string>& inputs,
                                   int units = 4) {
  nlohmann::json nodes = nlohmann::json::array();
  for (const std::string& input : inputs)
    nodes.push_back(nlohmann::json::parse("[[\"" + input + "\", 0, 0, {}]]"));
  return {{"class_name", "Dense"},
          {"name", name},
          {"config", {{"name", name}, {"units", units}}},
          {"inbound_nodes", nodes}};
}

inline nlohmann::json add_config(const std::string& name, const std::vector<std::string>& inputs) {
  nlohmann::json node = nlohmann::json::array();
  for (const std::string& input : inputs)
    node.push_back(nlohmann::json::parse("[\"" + input + "\", 0, 0, {}]"));
  return {{"class_name", "Add"},
          {"name", name},
          {"config", {{"name", name}}},
          {"inbound_nodes", nlohmann::json::array({node})}};
}

inline nlohmann::json functional(const std::string& name, const std::vector<nlohmann::json>& layers,
                                 const nlohmann::json& input, const nlohmann::json& output) {
  return {
      {"class_name", "Functional"},
      {"config", {{"name", name}, {"layers", layers}, {"input_layers", input}, {"output_layers", output}}}};
}

inline nlohmann::json sequential(const std::vector<nlohmann::json>& layers) {
  return {{"class_name", "Sequential"}, {"config", {{"name", "chain"}, {"layers", layers}}}};
}

inline std::vector<std::string> layer_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& layer : model.layers) names.push_back(layer->name);
  return names;
}

}  // namespace stoker::keras
