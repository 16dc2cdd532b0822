// The subcommands of `stoker`: one file each, one row each in the table of main.cpp.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trainer/options.h"

namespace stoker::trainer {

struct Command {
  const char* name;      // "train"
  const char* synopsis;  // "--model FILE --train DATA [options]"
  const char* summary;   // one line
  std::span<const OptionSpec> (*options)();
  // Returns the exit code. UserError and SystemError may be thrown; main() prints and maps them.
  int (*run)(const Options& options);
};

extern const Command kTrain, kEvaluate, kPredict, kInspect, kCheckpoint, kModel;

}  // namespace stoker::trainer
