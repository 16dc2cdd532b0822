#include "lib/keras/json_access.h"

#include <algorithm>

#include "lib/base/error.h"

namespace stoker::keras {

void malformed(const std::string& what, const std::string& where) {
  throw UserError(what, where, "the file may be damaged; save the model again with Keras");
}

namespace {

const nlohmann::json& member(const nlohmann::json& object, const char* key, const std::string& where) {
  if (!object.is_object()) malformed("the architecture holds no object where one must be", where);
  const auto found = object.find(key);
  if (found == object.end()) malformed(std::string("the architecture lacks \"") + key + "\"", where);
  return *found;
}

}  // namespace

const nlohmann::json& object_member(const nlohmann::json& object, const char* key, const std::string& where) {
  const nlohmann::json& value = member(object, key, where);
  if (!value.is_object()) malformed(std::string("\"") + key + "\" is no JSON object", where);
  return value;
}

const nlohmann::json& array_member(const nlohmann::json& object, const char* key, const std::string& where) {
  const nlohmann::json& value = member(object, key, where);
  if (!value.is_array()) malformed(std::string("\"") + key + "\" is no JSON list", where);
  return value;
}

std::string text_member(const nlohmann::json& object, const char* key, const std::string& where) {
  const nlohmann::json& value = member(object, key, where);
  if (!value.is_string()) malformed(std::string("\"") + key + "\" is no text", where);
  return value.get<std::string>();
}

std::string text_or(const nlohmann::json& object, const char* key, const std::string& otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool is_null_or_absent(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return true;
  const auto found = object.find(key);
  return found == object.end() || found->is_null();
}

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  // Code that walks the value recurses: deeper than any model nests is refused before.
  constexpr int kDeepest = 256;
  const auto check_depth = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > kDeepest) malformed("the JSON is nested too deeply", where);
    return true;
  };
  try {
    return nlohmann::json::parse(text, check_depth);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(at);
    const auto line = std::count(text.begin(), end, '\n') + 1;
    const std::size_t line_start = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    const std::size_t column = at - (line_start == std::string::npos ? 0 : line_start + 1) + 1;
    throw UserError(
        "not valid JSON (line " + std::to_string(line) + ", column " + std::to_string(column) + ")", where,
        "the file may be truncated or edited by hand; save the model again with Keras");
  }
}

std::vector<std::int64_t> dims_without_batch(const nlohmann::json& shape, const std::string& where) {
  const auto is_dim = [](const nlohmann::json& dim) {
    return dim.is_null() || (dim.is_number_integer() && dim.get<std::int64_t>() > 0);
  };
  if (!shape.is_array() || shape.empty() || !std::all_of(shape.begin(), shape.end(), is_dim))
    malformed("an input shape is no list of sizes: " + shape.dump(), where);
  std::vector<std::int64_t> dims;
  for (std::size_t axis = 1; axis < shape.size(); ++axis)
    dims.push_back(shape[axis].is_null() ? -1 : shape[axis].get<std::int64_t>());
  return dims;
}

}  // namespace stoker::keras
