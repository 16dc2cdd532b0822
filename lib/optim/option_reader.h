// Reads options by name, from the command line or a Keras config, and refuses what nobody asked for. Internal
// to lib/optim.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/error.h"

namespace stoker::optim {

class OptionReader {
 public:
  // `where` is said in errors: "--optimizer adam", "model.h5: optimizer Adam". Values are texts; those of a
  // JSON object are converted (null means absent; objects and arrays must have been taken out before).
  OptionReader(std::map<std::string, std::string> values, std::string where);
  static OptionReader from_json(const nlohmann::json& config, std::string where);

  // Each throws UserError on a value of another kind or outside [least, most].
  double number(const char* key, double otherwise, double least, double most);
  std::optional<double> optional_number(const char* key, double least,
                                        double most);  // also none, null, false: absent
  std::int64_t integer(const char* key, std::int64_t otherwise, std::int64_t least);
  bool flag(const char* key, bool otherwise);
  std::optional<std::vector<double>> numbers(const char* key);  // "a/b/c"

  bool has(const char* key) const { return values_.contains(key); }
  // The key may be there, whatever its value.
  void ignore(const char* key) { known_.insert(key); }
  // The key may be there only with the given meaning "off": none, null, false, 0.
  void must_be_off(const char* key);
  // Throws UserError if a key is left that nothing above named.
  void finish() const;

  const std::string& where() const { return where_; }
  [[noreturn]] void refuse(std::string_view key, std::string_view what_is_wrong,
                           std::string_view what_to_do) const;

 private:
  const std::string* find(const char* key);

  std::map<std::string, std::string> values_;
  std::string where_;
  std::set<std::string> known_;
};

// {"class_name": …, "config": {…}}: the class without its package ("Custom>AdamW": AdamW), and the config.
// Throws UserError for anything else.
struct KerasObject {
  std::string class_name;
  nlohmann::json config;
};
KerasObject keras_object(const nlohmann::json& value, std::string_view where);

}  // namespace stoker::optim
