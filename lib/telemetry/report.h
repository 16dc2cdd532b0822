// The closing report: where the wall time went, as parts that sum to it; throughput; and the one change that
// would help most, with its estimated gain. Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/telemetry/step_clock.h"

namespace stoker::telemetry {

struct RankFigures {
  PhaseTimes times;
  std::string host;
};

// Of one attempt.
struct RunFigures {
  std::vector<RankFigures> ranks;  // by rank, at least one
  std::int64_t steps = 0;
  std::int64_t samples = 0;     // over all ranks
  std::int64_t batch_size = 0;  // global
  std::int64_t virtual_ranks = 1;
  std::uint64_t bytes_sent = 0;  // by communication, over all ranks
  int compute_threads = 1;       // a rank
  int input_threads = 1;         // a rank
  int cores_available = 1;  // a rank: of its affinity mask, its share where several ranks have the same mask
  std::uint64_t peak_memory_bytes = 0;  // a rank, the largest; 0 if not known
  std::string outcome;                  // "done", "stopped", …
};

struct Advice {
  std::string text;  // one sentence: what to change, and why
  double gain = 0;   // estimated: by what fraction more samples/s, 0.25 = 25 % faster
};

// The change with the largest estimated gain; nothing when none promises 2 %. The estimates, from shares s of
// the mean rank's wall time without start-up (gain = 1 / (1 − saved) − 1):
//   input wait             saves s: the device never waits when reading keeps up
//   straggler              saves s: the ranks do equal work, so the slowest host is the cause; it is named
//   all-reduce on the wire saves s/2: a batch twice as large halves the number of reductions a sample
//   checkpoint stall, evaluation, logging   save s/2: half as often
//   idle cores             saves 0.8 · c · (1 − threads / cores), c the share of computing: threads rarely
//                          scale fully
std::optional<Advice> best_advice(const RunFigures& figures);

// report.json. Times in seconds, the mean over ranks; "breakdown" sums to "wall_seconds".
nlohmann::ordered_json report_json(const RunFigures& figures);

// report.txt and the end of the terminal's output; lines end in '\n'.
std::string report_text(const RunFigures& figures);

}  // namespace stoker::telemetry
