// The label column of a table: whole numbers, other numbers, or names of classes. Which it is shows only at
// the end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/data/formats.h"

namespace stoker::data {

class CsvLabels {
 public:
  void add(std::string_view cell, std::int64_t line);  // not empty

  // Makes arrays.y, .classes and .class_names. `where` is "FILE, column NAME". Names given (`classes`) number
  // the labels, all of which must be among them; names that only stand by (`known`) do so when the labels are
  // no numbers. Without any, names are sorted. Throws UserError, naming the line, for a label that is not
  // among the names, for numbers that are not finite, and for numbers mixed with names.
  void finish(const std::string& where, const std::vector<std::string>& classes,
              const std::vector<std::string>& known, Arrays& arrays) const;

 private:
  struct Distinct {
    std::string text;
    std::int64_t line;  // where it stood first
  };
  bool all_numbers(const std::string& where) const;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<Distinct> distinct_;
  std::vector<std::int64_t> rows_;  // the id of each
};

// `values` as records of `shape` elements of the given kind; sizeof(T) is the element's.
template <typename T>
std::unique_ptr<Records> records_of(const std::vector<T>& values, ElementKind kind,
                                    std::span<const std::int64_t> dimensions, const std::string& where) {
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(values.size() * sizeof(T));
  std::copy_n(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T), bytes.get());
  return records_in_memory(array_info(where, {kind}, dimensions), std::move(bytes));
}

}  // namespace stoker::data
