// Members of a JSON object that must be there, with a UserError that says where one is missing or of another
// type. `where` is "FILE" or "FILE: layer NAME".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stoker::keras {

[[noreturn]] void malformed(const std::string& what, const std::string& where);

const nlohmann::json& object_member(const nlohmann::json& object, const char* key, const std::string& where);
const nlohmann::json& array_member(const nlohmann::json& object, const char* key, const std::string& where);
std::string text_member(const nlohmann::json& object, const char* key, const std::string& where);
std::string text_or(const nlohmann::json& object, const char* key, const std::string& otherwise);
bool is_null_or_absent(const nlohmann::json& object, const char* key);

// Parses text; a syntax error is a UserError with line and column.
nlohmann::json parse_json(const std::string& text, const std::string& where);

// [null, 28, 28, 1] without its batch axis: null becomes −1. Throws UserError for anything else.
std::vector<std::int64_t> dims_without_batch(const nlohmann::json& shape, const std::string& where);

}  // namespace stoker::keras
