// Drives the checkpoint writer with the ranks' votes: begin, shards durable everywhere, commit.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/checkpoint/writer.h"
#include "lib/comm/communicator.h"
#include "trainer/step_engine.h"

namespace stoker::trainer {

class Saver {
 public:
  Saver(comm::Communicator& communicator, checkpoint::WriterOptions options);

  // What this rank votes in the next step.
  void vote(Votes& votes) const;
  // After a step whose votes were summed: commits or gives up the save under way. The same on all ranks.
  void after_step(float durable, float failed);

  // Starts a save, on all ranks alike; one that is under way is finished first. Blocks for the copy, and for
  // that.
  void begin(std::int64_t step, std::span<const checkpoint::TensorSource> tensors,
             const nlohmann::json& state);
  // A collective: blocks until the save under way is committed or has failed, on all ranks. Returns, on all
  // alike, why it failed: "" if it did not.
  std::string finish();

  // The step of the last save that was begun, or of the checkpoint that the run was resumed from; −1 for
  // none.
  std::int64_t last_step() const { return last_step_; }
  void mark_best(std::int64_t step) { writer_.mark_best(step); }
  double last_save_seconds() const { return writer_.last_save_seconds(); }

 private:
  void settle(bool all_durable);
  void fail(const std::string& why);
  void report_commit();

  comm::Communicator& communicator_;
  std::int64_t last_step_;
  checkpoint::Writer writer_;
  bool open_ = false;        // shards are being written; neither committed nor given up
  bool committing_ = false;  // rank 0: the manifest is being written, to be looked at
  std::string failure_;      // of the last save, on the rank that met it
};

}  // namespace stoker::trainer
