#include "trainer/output_file.h"

#include <filesystem>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/text.h"
#include "lib/data/source.h"

namespace stoker::trainer {

void check_output_file(const std::string& path, const std::vector<std::string>& endings) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  if (!is_directory(folder.empty() ? "." : folder))
    throw UserError("no such folder", path, "make it, or give another --output");
  if (is_directory(path)) throw UserError("a folder, not a file", path, "give the name of a file");
  for (const std::string& ending : endings)
    if (path.ends_with(ending)) return;
  throw UserError("unknown kind of output", "--output " + path,
                  "give a name that ends in " + join(endings, ", "));
}

void refuse_to_overwrite(const std::string& path, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    if (input.empty()) continue;
    for (const std::string& file : data::paths_of(input)) {
      std::error_code error;
      if (std::filesystem::equivalent(path, file, error) && !error)
        throw UserError("the output would overwrite an input", path, "give another --output");
    }
  }
}

}  // namespace stoker::trainer
