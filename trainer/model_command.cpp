// `stoker model`: writes a built-in architecture as a Keras file.
#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/keras/model.h"
#include "trainer/command.h"
#include "trainer/output_file.h"

namespace stoker::trainer {
namespace {

constexpr OptionSpec kSpecs[] = {
    {"output,o", "FILE.json", nullptr, "the file to write"},
    {"classes", "C", "10", "outputs of the last layer"},
    {"input-shape", "HxWxC", "28x28x1", "of an image; one number for the columns of a table"},
    {"help", nullptr, nullptr, "this text"},
};

std::span<const OptionSpec> specs() { return kSpecs; }

Shape read_shape(const std::string& text) {
  std::vector<std::int64_t> dims;
  for (const std::string& part : split(text, 'x')) dims.push_back(parse_int(part).value_or(0));
  for (const std::int64_t d : dims)
    if (d < 1 || d > 1 << 20) dims.clear();
  if (dims.size() == 2) dims.push_back(1);  // grey
  if (dims.size() != 3 && dims.size() != 1)
    throw UserError("not an image's shape", "--input-shape " + text,
                    "write HEIGHTxWIDTHxCHANNELS, or one number for a table");
  return Shape(dims);
}

int run_model(const Options& options) {
  if (options.positional().size() != 1)
    throw UserError("give one name", "stoker model", "one of " + join(keras::builtin_model_names(), ", "));
  const nlohmann::json json =
      keras::builtin_model(options.positional()[0], options.integer("classes", 1, 1 << 24),
                           read_shape(options.text("input-shape")));
  const std::string file = options.required("output");
  check_output_file(file, {".json"});
  write_file_atomically(file, json.dump(1) + "\n");
  info(
      "{} is written; train it with: stoker train --model {} --train DATA   (images of bytes: "
      "'DATA?scale=1/255')",
      file, file);
  return kExitDone;
}

}  // namespace

const Command kModel = {"model", "NAME -o FILE.json [--classes C] [--input-shape HxWxC]",
                        "writes a built-in architecture as a Keras file", specs, run_model};

}  // namespace stoker::trainer
