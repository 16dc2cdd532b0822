// metrics.jsonl: one JSON object a line, as CONTRACT ("The output directory") fixes it:
//
//   {"phase":"train","epoch":0,"step":1,"loss":0.5,"accuracy":0.75,"learning_rate":0.1,
//    "samples_per_second":100,"time":1767225600.5}
//
// Fields come in this order; the metrics, in the order given, between loss and learning_rate. Numbers are the
// shortest text that reads back as the same double. JSON has no NaN and no infinity: they are written as
// null. A field without a value (learning_rate of a validation line) is left out.
//
// A line is written by one write(2), so a killed process leaves at most its last line torn, and a resumed run
// cuts that off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/telemetry/append_file.h"

namespace stoker::telemetry {

struct MetricsLine {
  std::string phase;       // "train" or "validation"
  std::int64_t epoch = 0;  // from 0
  std::int64_t step = 0;   // from 1
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;
  std::optional<double> learning_rate;
  std::optional<double> samples_per_second;
  double time = 0;  // seconds since 1970, UTC
};

std::string to_json(const MetricsLine& line);  // no line break

// Seconds since 1970, for MetricsLine::time.
double unix_seconds();

// The file has whole lines behind its first `bytes`. False for a file that is missing or shorter.
bool has_lines_after(const std::string& path, std::uint64_t bytes);

// Only rank 0 has one. Not thread-safe. Failing calls throw SystemError; a line of which only a part could be
// written (a full disk) is taken back first, so the caller may warn and go on.
class MetricsLog {
 public:
  // Opens or makes the file and cuts it to its first `keep_bytes` bytes: what a checkpoint recorded as
  // length(), or 0 for a run that starts afresh. A file shorter than that (somebody edited it) is cut after
  // its last whole line.
  MetricsLog(const std::string& path, std::uint64_t keep_bytes);

  void append(const MetricsLine& line);

  // Bytes written so far: goes into a checkpoint.
  std::uint64_t length() const { return file_.length(); }
  // Bytes that the file lacked of keep_bytes when it was opened; worth a warning if not 0.
  std::uint64_t missing_bytes() const { return missing_bytes_; }

  // Makes what was appended durable: before a checkpoint that records length() is begun.
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
  std::uint64_t missing_bytes_ = 0;
};

}  // namespace stoker::telemetry
