// Reads the config of one layer key by key and remembers which keys were read, so that finish() can refuse
// what is left: an option that the layer does not honour is never ignored.
//
// Every error is a UserError of the form "WHAT: FILE: layer NAME (Class): WHAT TO DO". Not thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "lib/keras/layer.h"

namespace stoker::keras {

// A size in height and width.
struct Pair {
  std::int64_t h = 1, w = 1;
};

class ConfigReader {
 public:
  // `layer` is the object with class_name and config; it must outlive the reader. Reads name and trainable,
  // and refuses classes that are not Keras' own and dtypes other than float32.
  ConfigReader(const nlohmann::json& layer, const ParseContext& context);

  const std::string& class_name() const { return class_name_; }
  const std::string& name() const { return name_; }
  bool trainable() const { return trainable_; }
  const ParseContext& context() const { return context_; }
  const std::string& where() const { return where_; }  // "FILE: layer NAME (Class)"

  // The value of a key, null if the config has none. The key counts as read.
  const nlohmann::json& take(std::string_view key);
  bool present(std::string_view key) const { return config_->contains(key); }
  bool has(std::string_view key) const;  // present, and not null

  // Typed reads. Without a fallback the key must be there; a null counts as absent.
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = {});
  std::int64_t positive(std::string_view key, std::optional<std::int64_t> fallback = {});  // ≥ 1
  double number(std::string_view key, std::optional<double> fallback = {});                // finite
  bool boolean(std::string_view key, std::optional<bool> fallback = {});
  std::string text(std::string_view key, std::optional<std::string> fallback = {});
  Pair pair(std::string_view key, std::optional<Pair> fallback = {});  // k or [k, k], each ≥ 1

  // Refuses any key that was not read, unless it is without effect at its value.
  void finish() const;

  // "unsupported value KEY=VALUE".
  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& value,
                           std::string_view what_to_do) const;
  [[noreturn]] void fail(std::string_view what, std::string_view what_to_do) const;

 private:
  void check_origin(const nlohmann::json& layer) const;
  void check_dtype();
  const nlohmann::json* required(std::string_view key, bool has_fallback);

  const nlohmann::json* config_;
  ParseContext context_;
  std::string class_name_, name_, where_;
  bool trainable_ = true;
  std::set<std::string, std::less<>> read_;
};

// The whole number in (−2^31, 2^31) that a value is (3.0 counts: some writers give it so); nothing if it is
// none.
std::optional<std::int64_t> whole_number(const nlohmann::json& value);

// A value in one line of at most about 80 characters, for messages.
std::string brief(const nlohmann::json& value);

// The double that prints as the shortest decimal which reads back as `value`: 0.1f → 0.1, so that a config
// which is read and written again looks as the user wrote it.
double shortest(float value);

}  // namespace stoker::keras
