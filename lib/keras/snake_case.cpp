#include "lib/keras/snake_case.h"

#include <regex>

#include "lib/base/text.h"

namespace stoker::keras {

std::string snake_case(std::string_view class_name) {
  static const std::regex kNoWord("\\W+"), kWord("(.)([A-Z][a-z]+)"), kCapital("([a-z])([A-Z])");
  std::string name = std::regex_replace(std::string(class_name), kNoWord, "");
  name = std::regex_replace(name, kWord, "$1_$2");
  return lower(std::regex_replace(name, kCapital, "$1_$2"));
}

}  // namespace stoker::keras
