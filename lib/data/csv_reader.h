// Records of a CSV text (RFC 4180, and what programs write beside it): cells in quotes may hold separators,
// line breaks and doubled quotes; lines end with LF, CRLF or CR; a UTF-8 byte-order mark and empty lines are
// skipped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/data/byte_stream.h"

namespace stoker::data {

class CsvReader {
 public:
  // The stream must outlive the reader. Throws UserError for UTF-16.
  CsvReader(ByteStream& stream, char separator);

  // The cells of the next record, without their quotes; false at the end. Throws UserError, naming the line,
  // for a quote that is never closed, for text after a closing quote, and for cells of more than 1 MiB.
  bool next(std::vector<std::string>& cells);

  std::int64_t line() const { return record_line_; }           // where the record began, from 1
  bool after_empty_line() const { return after_empty_line_; }  // lines were skipped just before the record

 private:
  int get();  // the next byte, −1 at the end
  int peek();
  void read_cell(std::string& cell);
  void read_quoted(std::string& cell);
  [[noreturn]] void fail(std::string_view what, std::int64_t line) const;

  ByteStream& stream_;
  char separator_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t line_ = 1, record_line_ = 1;
  bool after_empty_line_ = false;
};

}  // namespace stoker::data
