// run.json: how a run was started, so that it can be understood and repeated, and what became of every
// attempt.
//
//   { "format": 1, "command": […], "options": {…}, "seeds": {…}, "digests": {…}, "versions": {…},
//   "instruction_set": "…",
//     "environment": {"OMP_NUM_THREADS": "1", …}, "topology": {…},
//     "attempts": [ {"start": "2026-01-31T12:00:00Z", "end": "…"|null, "outcome": "…", …} ] }
//
// The part above "attempts" is that of the latest attempt; every attempt keeps its own command, topology and
// environment too. Outcomes: "running", "done", "stopped" (with a checkpoint, exit code 75), "failed",
// "interrupted" (the process was gone without a word: a crash or SIGKILL; found out when the next attempt
// starts).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace stoker::telemetry {

struct RunDescription {
  std::vector<std::string> command;  // argv
  nlohmann::ordered_json options;    // as resolved, e.g. which metric "accuracy" became
  nlohmann::ordered_json seeds;
  nlohmann::ordered_json digests;      // of model and data
  nlohmann::ordered_json versions;     // stoker, oneDNN, MPI, HDF5
  std::string instruction_set;         // what the kernels use, e.g. "avx512_core_amx"
  nlohmann::ordered_json topology;     // hosts, ranks, threads
  nlohmann::ordered_json environment;  // chosen_environment()
};

// The variables that change what a run does, by an allow-list, so that no credential gets into the file:
// OMP_*, GOMP_*, SLURM_*, OMPI_COMM_WORLD_*, OMPI_MCA_*, STOKER_*, HDF5_*, DNNL_*, ONEDNN_*,
// CUDA_VISIBLE_DEVICES; of these not those whose name has KEY, TOKEN, SECRET, PASSWORD or CREDENTIAL in it.
// Sorted by name.
nlohmann::ordered_json chosen_environment();

// "2026-01-31T12:00:00Z"
std::string utc_time_text(double unix_seconds);

// Only rank 0 has one. Not thread-safe. Every change is written atomically (a temporary file, rename);
// failures are SystemError.
class RunRecord {
 public:
  // Reads what earlier attempts left at `path`; a file that is no run.json any more counts as absent (see
  // replaced()).
  explicit RunRecord(std::string path);

  // What an earlier attempt recorded, or null: for "the run had another batch size".
  const nlohmann::ordered_json& earlier() const { return earlier_; }
  // A file was there that could not be understood, and the next start() replaces it: worth a warning.
  bool replaced() const { return replaced_; }

  // Appends an attempt with outcome "running"; earlier ones that are still "running" become "interrupted".
  // resumed_step is the step of the checkpoint it starts from, 0 for none.
  void start(const RunDescription& description, std::int64_t resumed_step);

  // Closes the attempt. `figures` (steps, loss, …) are merged into its entry.
  void finish(const std::string& outcome, int exit_code, const nlohmann::ordered_json& figures);

 private:
  void write() const;

  std::string path_;
  nlohmann::ordered_json earlier_, record_;
  bool replaced_ = false;
};

}  // namespace stoker::telemetry
