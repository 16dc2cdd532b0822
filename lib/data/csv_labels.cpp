#include "lib/data/csv_labels.h"

#include <algorithm>
#include <cmath>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/base/utf8.h"

namespace stoker::data {
namespace {

std::string at_line(const std::string& where, std::int64_t line) {
  return where + ", line " + std::to_string(line);
}

}  // namespace

void CsvLabels::add(std::string_view cell, std::int64_t line) {
  const auto [entry, is_new] = ids_.emplace(cell, static_cast<std::int64_t>(distinct_.size()));
  if (is_new) distinct_.push_back({std::string(cell), line});
  rows_.push_back(entry->second);
}

bool CsvLabels::all_numbers(const std::string& where) const {
  const Distinct* number = nullptr;
  const Distinct* name = nullptr;
  const Distinct* not_finite = nullptr;
  for (const Distinct& label : distinct_) {
    const auto value = parse_double(label.text);
    if (!value && name == nullptr) name = &label;
    if (value && std::isfinite(*value) && number == nullptr) number = &label;
    if (value && !std::isfinite(*value) && not_finite == nullptr) not_finite = &label;
  }
  if (name == nullptr && not_finite != nullptr)
    throw UserError("the label '" + not_finite->text + "' is not finite", at_line(where, not_finite->line),
                    "mend or remove the line");
  if (name != nullptr && number != nullptr) {
    const Distinct& other = name->line > number->line ? *name : *number;
    throw UserError("labels are numbers in some lines and names in others: '" + other.text + "'",
                    at_line(where, other.line),
                    name->line == 1 ? "if line 1 is a header, say header=1"
                                    : "mend the line, or number the labels with classes=A/B/…");
  }
  return name == nullptr;
}

void CsvLabels::finish(const std::string& where, const std::vector<std::string>& classes,
                       const std::vector<std::string>& known, Arrays& arrays) const {
  const std::int64_t dimensions[] = {static_cast<std::int64_t>(rows_.size())};
  if (classes.empty() && all_numbers(where)) {
    std::vector<double> values;
    bool whole = true;
    for (const Distinct& label : distinct_) {
      values.push_back(*parse_double(label.text));
      whole = whole && values.back() == std::floor(values.back()) && std::abs(values.back()) <= 0x1p53;
    }
    std::vector<double> all;
    for (const std::int64_t id : rows_) all.push_back(values[static_cast<std::size_t>(id)]);
    if (whole)
      arrays.y =
          records_of(std::vector<std::int64_t>(all.begin(), all.end()), ElementKind::i64, dimensions, where);
    else
      arrays.y = records_of(all, ElementKind::f64, dimensions, where);
    return;
  }
  std::vector<std::string> names = classes.empty() ? known : classes;
  if (names.empty()) {
    for (const Distinct& label : distinct_) {
      if (!is_utf8(label.text))
        throw UserError("the label '" + label.text + "' is no UTF-8", at_line(where, label.line),
                        "convert the file, say with `iconv -f latin1 -t utf8`");
      names.push_back(label.text);
    }
    std::sort(names.begin(), names.end());
  }
  std::vector<std::int64_t> numbers;
  for (const Distinct& label : distinct_) {
    const auto found = std::find(names.begin(), names.end(), label.text);
    if (found == names.end())
      throw UserError("the label '" + label.text + "' is none of the classes " + join(names, ", "),
                      at_line(where, label.line),
                      classes.empty() ? "it does not occur in the training data" : "add it to classes=");
    numbers.push_back(found - names.begin());
  }
  std::vector<std::int64_t> all;
  for (const std::int64_t id : rows_) all.push_back(numbers[static_cast<std::size_t>(id)]);
  arrays.y = records_of(all, ElementKind::i64, dimensions, where);
  arrays.classes = static_cast<std::int64_t>(names.size());
  arrays.class_names = std::move(names);
}

}  // namespace stoker::data
