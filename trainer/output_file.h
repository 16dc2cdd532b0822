// Checks of the file that a command is to write, before any work is done for it.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace stoker::trainer {

// Throws UserError unless the folder of `path` exists, `path` is no folder itself and ends in one of
// `endings` (".h5", …).
void check_output_file(const std::string& path, const std::vector<std::string>& endings);

// Throws UserError if `path` is the same file as one of `inputs`: it would be lost. Inputs may be files,
// folders, or DATA (kind:path,path?keys), of which every path counts; what does not exist is passed over.
void refuse_to_overwrite(const std::string& path, const std::vector<std::string>& inputs);

}  // namespace stoker::trainer
