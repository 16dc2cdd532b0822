#include "lib/data/csv_reader.h"

#include <algorithm>

#include "lib/base/error.h"

namespace stoker::data {
namespace {

constexpr std::size_t kLargestCell = 1 << 20;
constexpr std::size_t kMostCells = 1 << 24;

bool ends_line(int c) { return c == '\n' || c == '\r'; }

}  // namespace

CsvReader::CsvReader(ByteStream& stream, char separator)
    : stream_(stream), separator_(separator), buffer_(1 << 16) {
  end_ = stream_.read(buffer_.data(), buffer_.size());
  const std::string_view start(buffer_.data(), std::min<std::size_t>(end_, 3));
  if (start.starts_with("\xFF\xFE") || start.starts_with("\xFE\xFF"))
    throw UserError("the text is UTF-16", stream.where(), "save it as UTF-8");
  if (start == "\xEF\xBB\xBF") begin_ = 3;
}

int CsvReader::peek() {
  if (begin_ == end_) {
    begin_ = 0;
    end_ = stream_.read(buffer_.data(), buffer_.size());
    if (end_ == 0) return -1;
  }
  return static_cast<unsigned char>(buffer_[begin_]);
}

int CsvReader::get() {
  const int c = peek();
  if (c >= 0) ++begin_;
  return c;
}

bool CsvReader::next(std::vector<std::string>& cells) {
  after_empty_line_ = false;
  for (; ends_line(peek()); ++line_) {
    if (get() == '\r' && peek() == '\n') get();
    after_empty_line_ = true;
  }
  if (peek() < 0) return false;
  record_line_ = line_;
  std::size_t count = 0;
  for (;;) {
    if (count == kMostCells) fail("too many columns", record_line_);
    if (cells.size() == count) cells.emplace_back();
    read_cell(cells[count++]);
    const int c = get();
    if (c == static_cast<unsigned char>(separator_)) continue;
    if (c == '\r' && peek() == '\n') get();
    ++line_;
    cells.resize(count);
    return true;
  }
}

void CsvReader::read_cell(std::string& cell) {
  cell.clear();
  if (peek() == '"') return read_quoted(cell);
  for (int c = peek(); c >= 0 && c != static_cast<unsigned char>(separator_) && !ends_line(c); c = peek()) {
    if (cell.size() == kLargestCell) fail("a cell of more than 1 MiB", record_line_);
    cell.push_back(static_cast<char>(get()));
  }
}

void CsvReader::read_quoted(std::string& cell) {
  const std::int64_t opened = line_;
  get();
  for (;;) {
    const int c = get();
    if (c < 0 || cell.size() == kLargestCell) fail("a quote is never closed", opened);
    if (c == '"') {
      if (peek() != '"') break;
      get();
    }
    if (c == '\n') ++line_;
    cell.push_back(static_cast<char>(c));
  }
  const int c = peek();
  if (c >= 0 && c != static_cast<unsigned char>(separator_) && !ends_line(c))
    fail("text follows a closing quote", line_);
}

void CsvReader::fail(std::string_view what, std::int64_t line) const {
  throw UserError(what, stream_.where() + ", line " + std::to_string(line),
                  "mend the line, or say separator= if it is another");
}

}  // namespace stoker::data
