// The progress line:
//
//   step 120/938 (13 %), epoch 1/3, loss 0.4321, accuracy 0.8765, 4123 samples/s, 2m05s left, device busy 93
//   %
//
// On a terminal it is redrawn in place a few times a second; elsewhere it is a plain line every ten seconds
// and at the end of each epoch, so that a batch job's log stays short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace stoker::telemetry {

struct ProgressFigures {
  std::int64_t step = 0, total_steps = 0;    // steps done, over all attempts
  std::int64_t epoch = 0, total_epochs = 0;  // the running epoch from 0; 0 total epochs: not shown
  double loss = 0;
  std::optional<std::pair<std::string, double>> metric;
  double samples_per_second = 0;
  double seconds_left = 0;
  double device_busy = 0;  // 0 to 1
};

std::string format_progress(const ProgressFigures& figures);

// "5s", "2m05s", "3h07m", "2d04h"
std::string format_duration(double seconds);

// When to show it. Not thread-safe. `now` is in seconds of any monotonic clock.
class Progress {
 public:
  explicit Progress(bool terminal) : interval_(terminal ? 0.25 : 10.0) {}

  // True when the line should be shown now. The first call of a run is true: it shows that training has
  // begun.
  bool due(double now, bool end_of_epoch);

 private:
  double interval_;
  std::optional<double> shown_;
};

// format_progress through say_progress.
void show_progress(const ProgressFigures& figures);

}  // namespace stoker::telemetry
