#include "lib/keras/zip_archive.h"

#include <array>
#include <fstream>

#include "lib/base/error.h"

namespace stoker::keras {
namespace {

[[noreturn]] void damaged(const std::string& where, const std::string& detail) {
  throw UserError("cannot read the archive (" + detail + ")", where,
                  "it may be truncated or damaged; copy or save it again");
}

using ZipMember = Handle<zip_file_t*, zip_fclose, nullptr>;

}  // namespace

bool looks_like_zip(const std::string& path) {
  std::array<char, 4> head{};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(head.data(), head.size())) return false;
  const std::string_view magic(head.data(), head.size());
  return magic == std::string_view("PK\3\4", 4) || magic == std::string_view("PK\5\6", 4);
}

ZipArchive::ZipArchive(const std::string& path) : path_(path) {
  int code = 0;
  archive_.reset(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive_) return;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string detail = zip_error_strerror(&error);
  zip_error_fini(&error);
  damaged(path, detail);
}

std::optional<std::string> ZipArchive::read(const std::string& member) const {
  zip_stat_t stat;
  zip_stat_init(&stat);
  if (zip_stat(archive_.get(), member.c_str(), 0, &stat) != 0) return std::nullopt;
  const std::string where = path_ + ": " + member;
  const ZipMember file(zip_fopen(archive_.get(), member.c_str(), 0));
  if (!file) damaged(where, zip_strerror(archive_.get()));
  // The size in the directory is a claim: grow as bytes really arrive.
  constexpr std::size_t kPiece = std::size_t{4} << 20;
  std::string content;
  for (;;) {
    const std::size_t filled = content.size();
    content.resize(filled + kPiece);
    const zip_int64_t count = zip_fread(file.get(), content.data() + filled, kPiece);
    if (count < 0) damaged(where, zip_file_strerror(file.get()));
    content.resize(filled + static_cast<std::size_t>(count));
    if (count == 0) return content;
  }
}

}  // namespace stoker::keras
