#include "lib/telemetry/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/base/log.h"

namespace stoker::telemetry {

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  const auto s = static_cast<std::int64_t>(std::min(std::round(seconds), 1e15));
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{:02}h", s / 86400, s / 3600 % 24);
}

std::string format_progress(const ProgressFigures& figures) {
  std::string line = fmt::format("step {}", figures.step);
  if (figures.total_steps > 0)
    line += fmt::format("/{} ({} %)", figures.total_steps, 100 * figures.step / figures.total_steps);
  if (figures.total_epochs > 0) line += fmt::format(", epoch {}/{}", figures.epoch + 1, figures.total_epochs);
  line += fmt::format(", loss {:.4g}", figures.loss);
  if (figures.metric) line += fmt::format(", {} {:.4g}", figures.metric->first, figures.metric->second);
  const double rate = figures.samples_per_second;
  line += rate >= 10 ? fmt::format(", {:.0f} samples/s", rate) : fmt::format(", {:.2f} samples/s", rate);
  line += fmt::format(", {} left, device busy {:.0f} %", format_duration(figures.seconds_left),
                      100 * figures.device_busy);
  return line;
}

bool Progress::due(double now, bool end_of_epoch) {
  if (shown_ && !end_of_epoch && now - *shown_ < interval_) return false;
  shown_ = now;
  return true;
}

void show_progress(const ProgressFigures& figures) { say_progress(format_progress(figures)); }

}  // namespace stoker::telemetry
