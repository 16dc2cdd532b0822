// What a rank allocates for training, by part: printed when a run starts, recorded in run.json, and foretold
// by `stoker inspect
// --batch-size`. All sizes in bytes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace stoker::trainer {

struct MemoryReport {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;  // all slots of the fixed tree, statistics and votes included
  std::int64_t gradient_slots = 0;
  std::int64_t optimizer = 0;  // state
  std::int64_t arena =
      0;  // activations, their gradients and the kernels' scratch; training and evaluation share it
  std::int64_t checkpoint = 0;  // staging copy of this rank's shard
  std::int64_t communication = 0;

  std::int64_t total() const {
    return parameters + gradients + optimizer + arena + checkpoint + communication;
  }
};

nlohmann::ordered_json to_json(const MemoryReport& report);
std::string to_text(const MemoryReport& report);  // one line

}  // namespace stoker::trainer
