#include "lib/keras/snake_case.h"

namespace stoker::keras {
namespace {

// ASCII alone, as in Python identifiers that name classes, and whatever the locale.
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_word(char c) { return is_capital(c) || is_small(c) || (c >= '0' && c <= '9') || c == '_'; }

// '_' between any character and a capitalised word: what re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name) does. A
// match takes the character before the word with it, so a word directly behind another is not parted here.
std::string part_words(std::string_view name) {
  std::string parted;
  for (size_t i = 0; i < name.size();) {
    parted += name[i++];
    if (i + 1 >= name.size() || !is_capital(name[i]) || !is_small(name[i + 1])) continue;
    parted += '_';
    parted += name[i++];
    while (i < name.size() && is_small(name[i])) parted += name[i++];
  }
  return parted;
}

}  // namespace

std::string snake_case(std::string_view class_name) {
  std::string word;
  for (char c : class_name)
    if (is_word(c)) word += c;
  std::string snake;
  char before = '_';
  for (char c : part_words(word)) {
    if (is_small(before) && is_capital(c)) snake += '_';
    snake += is_capital(c) ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return snake;
}

}  // namespace stoker::keras
