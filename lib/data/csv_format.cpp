// Tables of numbers as text, a sample a line; read into memory as fp32.
//
// A cell that is empty, no number or not finite is an error that names its line and column: nothing becomes a
// number by itself, but for true and false, which are 1 and 0.
#include <algorithm>
#include <cmath>

#include "lib/base/error.h"
#include "lib/base/text.h"
#include "lib/data/csv_labels.h"
#include "lib/data/csv_reader.h"
#include "lib/data/formats.h"

namespace stoker::data {
namespace {

enum class Role : std::uint8_t { feature, label, ignored };

char separator_of(const DataSpec& spec) {
  static constexpr std::pair<std::string_view, char> kNames[] = {
      {"tab", '\t'}, {"comma", ','}, {"semicolon", ';'}, {"space", ' '}, {"pipe", '|'}};
  const auto text = spec.get("separator");
  if (!text) {
    const std::string name = lower(spec.paths[0]);
    return name.ends_with(".tsv") || name.ends_with(".tsv.gz") ? '\t' : ',';
  }
  for (const auto& [name, separator] : kNames)
    if (*text == name) return separator;
  if (text->size() != 1 || *text == "\"" || *text == "\n" || *text == "\r")
    throw UserError("'" + *text + "' is no separator", spec.text,
                    "give one character, or tab, comma, semicolon, space or pipe");
  return (*text)[0];
}

std::optional<double> number_in(std::string_view cell) {
  if (const auto value = parse_double(cell)) return value;
  if (cell.size() > 5) return std::nullopt;
  const std::string word = lower(cell);
  if (word == "true") return 1;
  if (word == "false") return 0;
  return std::nullopt;
}

class Table {
 public:
  Table(const DataSpec& spec, const OpenOptions& options)
      : spec_(spec),
        memory_bytes_(options.memory_bytes),
        targets_(options.targets),
        stream_(stream_file(DataFile::open(spec.paths[0]))),
        reader_(*stream_, separator_of(spec)) {}

  Arrays read(const std::vector<std::string>& known_classes) {
    std::vector<std::string> cells;
    if (!reader_.next(cells))
      throw UserError("there are no samples", path(), "give a file with at least one line of data");
    choose_columns(cells);
    if (!has_header(cells)) add(cells);
    while (reader_.next(cells)) add(cells);
    if (rows_ == 0)
      throw UserError("there are no samples", path(), "give a file with a line of data after the header");
    return finish(known_classes);
  }

 private:
  const std::string& path() const { return spec_.paths[0]; }

  std::string column_name(std::size_t column) const {
    std::string name = "column " + std::to_string(column);
    return header_.empty() ? name : name + " (" + header_[column] + ")";
  }
  [[noreturn]] void fail(std::string_view what, std::size_t column, std::string_view to_do) const {
    throw UserError(what, path() + ", line " + std::to_string(reader_.line()) + ", " + column_name(column),
                    to_do);
  }

  // The column that a key's value means: a name of the first line, else a number from 0. A name makes the
  // first line a header.
  std::size_t column_of(const std::string& text, const std::vector<std::string>& first) {
    const auto same = [&](const std::string& cell) { return trim(cell) == text; };
    const auto found = std::find_if(first.begin(), first.end(), same);
    const auto number = parse_int(text);
    if (found != first.end() && spec_.get("header") != "0" && !(number && spec_.get("header") != "1")) {
      if (std::count_if(first.begin(), first.end(), same) > 1)
        throw UserError("several columns are named " + text, path(), "give the column's number, from 0");
      named_ = true;
      return static_cast<std::size_t>(found - first.begin());
    }
    if (number && *number >= 0 && *number < static_cast<std::int64_t>(first.size()))
      return static_cast<std::size_t>(*number);
    throw UserError(
        "there is no column '" + text + "'", path(),
        "line 1 is " + join(first, ", ").substr(0, 300) + "; give a name of it or a number from 0");
  }

  void choose_columns(const std::vector<std::string>& first) {
    roles_.assign(first.size(), Role::feature);
    for (const std::string& text : split(spec_.get("ignore").value_or(""), '/'))
      roles_[column_of(text, first)] = Role::ignored;
    const std::string label = spec_.get("label").value_or("");
    if (label.empty()) {
      const auto last = std::find(roles_.rbegin(), roles_.rend(), Role::feature);
      if (last != roles_.rend()) *last = Role::label;
    } else if (label != "none") {
      for (const std::string& text : split(label, '/')) roles_[column_of(text, first)] = Role::label;
    }
    labels_ = std::count(roles_.begin(), roles_.end(), Role::label);
    features_ = std::count(roles_.begin(), roles_.end(), Role::feature);
    if (features_ == 0)
      throw UserError("no column is left for the features", path(),
                      "say separator= if it is not a comma; say label=none without labels");
  }

  // A header is a first line whose features are all no numbers.
  bool has_header(const std::vector<std::string>& first) {
    std::int64_t numbers = 0, texts = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (roles_[i] != Role::feature || trim(first[i]).empty()) continue;
      ++(number_in(trim(first[i])) ? numbers : texts);
    }
    const std::string said = parse_choice(spec_, "header", {"0", "1"}, named_ ? "1" : "");
    if (said.empty() && numbers > 0 && texts > 0)
      throw UserError("cannot tell whether line 1 is a header", path(), "say header=1 or header=0");
    const bool header = said.empty() ? texts > 0 : said == "1";
    if (header)
      for (const std::string& cell : first) header_.emplace_back(trim(cell));
    return header;
  }

  double number(const std::string& cell, std::size_t column) const {
    const auto value = number_in(trim(cell));
    if (!value)
      fail("'" + cell.substr(0, 40) + "' is no number", column,
           "mend it, or leave the column out with ignore=");
    if (!std::isfinite(static_cast<float>(*value)))
      fail("'" + cell.substr(0, 40) + "' is not finite in fp32", column, "mend or remove the line");
    return *value;
  }

  void add(const std::vector<std::string>& cells) {
    if (roles_.size() == 1 && reader_.after_empty_line())
      fail("an empty cell (the line before)", 0, "fill or remove it");
    if (cells.size() != roles_.size())
      throw UserError("the line has " + std::to_string(cells.size()) + " cells, the first line " +
                          std::to_string(roles_.size()),
                      path() + ", line " + std::to_string(reader_.line()), "mend the line");
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (roles_[i] == Role::ignored || (roles_[i] == Role::label && !targets_)) continue;
      if (trim(cells[i]).empty())
        fail("an empty cell", i, "fill it, remove the line, or leave the column out with ignore=");
      if (roles_[i] == Role::feature)
        x_.push_back(static_cast<float>(number(cells[i], i)));
      else if (labels_ == 1)
        label_column_.add(trim(cells[i]), reader_.line());
      else
        y_.push_back(number(cells[i], i));
    }
    ++rows_;
    if (x_.capacity() * sizeof(float) > memory_bytes_)
      throw UserError("the table does not fit the memory that may be used", path(),
                      "store it as HDF5, which is read piece by piece");
  }

  Arrays finish(const std::vector<std::string>& known_classes) {
    Arrays arrays;
    const std::int64_t x_dimensions[] = {rows_, features_}, y_dimensions[] = {rows_, labels_};
    arrays.x = records_of(x_, ElementKind::f32, x_dimensions, path());
    std::vector<float>().swap(x_);
    std::string where = path();
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i] == Role::ignored) continue;
      const std::string name = header_.empty() ? std::to_string(i) : header_[i];
      arrays.names += (roles_[i] == Role::label ? "label " : "") + name + "\n";
      if (roles_[i] == Role::label) where += ", " + column_name(i);
    }
    if (targets_ && labels_ == 1)
      label_column_.finish(where, split(spec_.get("classes").value_or(""), '/'), known_classes, arrays);
    else if (targets_ && labels_ > 1)
      arrays.y = records_of(y_, ElementKind::f64, y_dimensions, where);
    arrays.files = spec_.paths;
    return arrays;
  }

  const DataSpec& spec_;
  std::uint64_t memory_bytes_;
  bool targets_;
  std::unique_ptr<ByteStream> stream_;
  CsvReader reader_;
  std::vector<Role> roles_;  // of each column
  std::int64_t features_ = 0, labels_ = 0, rows_ = 0;
  bool named_ = false;  // a key names a column of line 1
  std::vector<std::string> header_;
  std::vector<float> x_;
  std::vector<double> y_;
  CsvLabels label_column_;
};

}  // namespace

Arrays open_csv(const DataSpec& spec, const OpenOptions& options) {
  if (spec.paths.size() != 1)
    throw UserError("one CSV file is wanted", spec.text, "write csv:FILE?label=COLUMN");
  return Table(spec, options).read(options.class_names);
}

}  // namespace stoker::data
