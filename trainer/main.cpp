// stoker: the distributed trainer. Finds the subcommand, runs it, and turns what it throws into one line and
// an exit code.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "config.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/subnormals.h"
#include "lib/comm/launch.h"
#include "trainer/command.h"

namespace stoker::trainer {
namespace {

const Command* const kCommands[] = {&kTrain, &kEvaluate, &kPredict, &kInspect, &kCheckpoint, &kModel};

const Command* find_command(const std::string& name) {
  for (const Command* command : kCommands)
    if (name == command->name) return command;
  return nullptr;
}

void print_overview() {
  std::printf("stoker %s: trains Keras models on many ranks\n\nusage: stoker COMMAND [options]\n\n",
              PACKAGE_VERSION);
  for (const Command* command : kCommands) std::printf("  %-11s %s\n", command->name, command->summary);
  std::printf("  %-11s %s\n", "help", "stoker help COMMAND, or stoker COMMAND --help: its options");
  std::printf("\n  stoker --version\n\nThe full reference is the man page stoker(1).\n");
}

void print_help(const Command& command) {
  std::printf("usage: stoker %s %s\n\n%s\n\n%s", command.name, command.synopsis, command.summary,
              describe_options(command.options()).c_str());
}

int dispatch(const std::vector<std::string>& arguments) {
  const std::string first = arguments.empty() ? "help" : arguments[0];
  if (first == "--version") {
    std::printf("stoker %s\n", PACKAGE_VERSION);
    return kExitDone;
  }
  if ((first == "help" && arguments.size() < 2) || first == "--help") {
    print_overview();
    return kExitDone;
  }
  const std::string name = first == "help" ? arguments[1] : first;
  const Command* command = find_command(name);
  if (command == nullptr) throw UserError("unknown command", name, "see `stoker help`");
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  for (const std::string& argument : rest) {
    if (argument != "--help" && first != "help") continue;
    print_help(*command);
    return kExitDone;
  }
  return command->run(parse_options(command->options(), rest, "stoker " + name));
}

// Errors that reach this place happened on every rank alike and before MPI started, or after it ended: one
// rank speaks.
int fail(const char* line, int code) {
  if (comm::read_launch_environment().speaks()) say_error(line);
  return code;
}

}  // namespace

int main_of_stoker(const std::vector<std::string>& arguments) {
  try {
    return dispatch(arguments);
  } catch (const UserError& e) {
    return fail(e.what(), kExitUser);
  } catch (const std::bad_alloc&) {
    return fail("out of memory: allocation failed: give a smaller --batch-size or more --virtual-ranks",
                kExitSystem);
  } catch (const std::exception& e) {
    return fail(e.what(), kExitSystem);
  }
}

}  // namespace stoker::trainer

int main(int argc, char** argv) {
  stoker::flush_subnormals_to_zero();
  std::signal(SIGPIPE, SIG_IGN);
  return stoker::trainer::main_of_stoker({argv + 1, argv + argc});
}
