#include "lib/data/npy_header.h"

#include <bit>
#include <optional>

#include "lib/base/error.h"
#include "lib/base/text.h"

namespace stoker::data {
namespace {

constexpr std::size_t kLongestHeader = 1 << 16;
constexpr std::size_t kMostDimensions = 32;

[[noreturn]] void bad_header(const std::string& where, std::string_view detail) {
  throw UserError("the .npy header cannot be read (" + std::string(detail) + ")", where,
                  "the file may be damaged; save it again");
}

std::optional<ElementKind> element_kind(std::string_view code) {
  static constexpr std::pair<std::string_view, ElementKind> kCodes[] = {
      {"b1", ElementKind::boolean}, {"u1", ElementKind::u8},  {"i1", ElementKind::i8},
      {"u2", ElementKind::u16},     {"i2", ElementKind::i16}, {"u4", ElementKind::u32},
      {"i4", ElementKind::i32},     {"u8", ElementKind::u64}, {"i8", ElementKind::i64},
      {"f2", ElementKind::f16},     {"f4", ElementKind::f32}, {"f8", ElementKind::f64}};
  for (const auto& [name, kind] : kCodes)
    if (code == name) return kind;
  return std::nullopt;
}

// A typestr of the array interface: byte order, kind, bytes.
Element parse_descr(std::string_view descr, const std::string& where) {
  const std::string_view code = descr.substr(descr.empty() ? 0 : 1);
  const auto kind = element_kind(code);
  const bool big = descr.starts_with('>'),
             known_order = big || descr.starts_with('<') || descr.starts_with('|');
  if (!kind || !known_order)
    throw UserError("elements of the type '" + std::string(descr) + "' are no numbers that can be read",
                    where, "save them as integers, booleans or floats of up to 64 bits");
  const bool one_byte = size_of({*kind}) == 1;
  return {*kind, !one_byte && !descr.starts_with('|') && big == (std::endian::native == std::endian::little)};
}

// A cursor over the dictionary literal; just the grammar that NumPy writes, blanks allowed anywhere.
class Literal {
 public:
  Literal(std::string_view text, const std::string& where) : rest_(text), where_(where) {}

  bool take(std::string_view token) {
    rest_ = rest_.substr(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) bad_header(where_, "'" + std::string(token) + "' is missing");
  }
  std::string_view quoted() {
    const std::string_view quote = take("'") ? "'" : "\"";
    if (quote == "\"") expect(quote);
    const std::size_t end = rest_.find(quote);
    if (end == std::string_view::npos) bad_header(where_, "a quote is missing");
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::int64_t number() {
    take("");
    const std::size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const auto value = parse_int(rest_.substr(0, digits));
    if (!value) bad_header(where_, "a number is missing");
    rest_.remove_prefix(digits);
    take("L");  // Python 2 wrote long integers so
    return *value;
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect("(");
    while (!take(")")) {
      if (values.size() == kMostDimensions) bad_header(where_, "too many dimensions");
      values.push_back(number());
      if (take(",")) continue;
      expect(")");
      break;
    }
    return values;
  }

 private:
  std::string_view rest_;
  const std::string& where_;
};

}  // namespace

NpyHeader read_npy_header(ByteStream& stream) {
  const std::string& where = stream.where();
  unsigned char start[8] = {};
  if (stream.read(start, sizeof start) != sizeof start ||
      std::string_view(reinterpret_cast<char*>(start), 6) != "\x93NUMPY")
    throw UserError("not a .npy array", where, "save it with numpy.save");
  if (start[6] < 1 || start[6] > 3) bad_header(where, "unknown version");
  unsigned char length[4] = {};
  const std::size_t length_bytes = start[6] == 1 ? 2 : 4;
  read_exactly(stream, length, length_bytes);
  const std::size_t size = length[0] | length[1] << 8 | length[2] << 16 | std::size_t{length[3]} << 24;
  if (size > kLongestHeader) bad_header(where, "too long");
  std::string text(size, '\0');
  read_exactly(stream, text.data(), size);

  NpyHeader header;
  std::optional<Element> element;
  std::optional<std::vector<std::int64_t>> shape;
  Literal literal(text, where);
  literal.expect("{");
  while (!literal.take("}")) {
    const std::string_view key = literal.quoted();
    literal.expect(":");
    if (key == "descr") {
      if (literal.take("["))
        throw UserError("the array holds structures, no numbers", where,
                        "save each field as an array of its own");
      element = parse_descr(literal.quoted(), where);
    } else if (key == "fortran_order") {
      header.fortran_order = literal.take("True");
      if (!header.fortran_order) literal.expect("False");
    } else if (key == "shape") {
      shape = literal.tuple();
    } else {
      bad_header(where, "unknown key " + std::string(key));
    }
    if (!literal.take(",")) {
      literal.expect("}");
      break;
    }
  }
  if (!element || !shape) bad_header(where, "descr or shape is missing");
  header.info = array_info(where, *element, *shape);
  header.bytes = sizeof start + length_bytes + size;
  return header;
}

}  // namespace stoker::data
