#include "trainer/agree.h"

#include <new>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/comm/communicator_factory.h"
#include "lib/comm/launch.h"
#include "lib/comm/start_alarm.h"

namespace stoker::trainer {
namespace {

struct Failure {
  int code = kExitDone;
  std::string line;
};

// What `part` threw, as an exit code and a line; code kExitDone if it threw nothing.
Failure failure_of(const std::function<void()>& part) {
  try {
    part();
    return {};
  } catch (const UserError& e) {
    return {kExitUser, e.what()};
  } catch (const std::bad_alloc&) {
    return {kExitSystem,
            "out of memory: an allocation failed: give a smaller --batch-size, more --virtual-ranks or more "
            "memory"};
  } catch (const EndTogether&) {
    throw;
  } catch (const std::exception& e) {
    return {kExitSystem, e.what()};
  }
}

}  // namespace

void agree(comm::Communicator& communicator, const std::function<void()>& part) {
  const Failure mine = failure_of(part);
  const std::vector<int> codes = communicator.all_gather_record(mine.code);
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const int code = codes[static_cast<std::size_t>(rank)];
    if (code == kExitDone) continue;
    if (rank == communicator.rank()) say_error(mine.line);
    throw EndTogether(code);
  }
}

int run_on_ranks(double timeout, const std::function<int(comm::Communicator&)>& body) {
  const comm::LaunchEnvironment launch = comm::read_launch_environment();
  log_set_rank(launch.rank);
  std::unique_ptr<comm::Communicator> communicator;
  {
    const comm::StartAlarm alarm(launch.needs_mpi() ? timeout : 0, launch.rank);
    communicator = comm::make_communicator(launch, nullptr, nullptr);
  }
  log_set_rank(communicator->rank());
  int code = kExitDone;
  const Failure failure = failure_of([&] {
    try {
      code = body(*communicator);
    } catch (const EndTogether& end) {
      code = end.code();
    }
  });
  if (failure.code != kExitDone) {
    say_error(communicator->size() > 1 ? failure.line + " (rank " + std::to_string(communicator->rank()) + ")"
                                       : failure.line);
    communicator->abort(failure.code);
  }
  return communicator->finish(code);
}

}  // namespace stoker::trainer
