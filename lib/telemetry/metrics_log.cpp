#include "lib/telemetry/metrics_log.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/base/files.h"
#include "lib/base/text.h"

namespace stoker::telemetry {
namespace {

void add_number(std::string& out, std::string_view name, double value) {
  out += ',';
  out += nlohmann::json(name).dump();
  out += ':';
  out += std::isfinite(value) ? format_double(value) : "null";
}

// The length of the whole lines among the first `bytes` bytes of the file.
std::uint64_t whole_lines(const std::string& path, std::uint64_t bytes) {
  const std::string content = read_file(path).substr(0, bytes);
  const std::size_t end = content.rfind('\n');
  return end == std::string::npos ? 0 : end + 1;
}

}  // namespace

std::string to_json(const MetricsLine& line) {
  std::string out = "{\"phase\":" + nlohmann::json(line.phase).dump();
  out += ",\"epoch\":" + std::to_string(line.epoch) + ",\"step\":" + std::to_string(line.step);
  add_number(out, "loss", line.loss);
  for (const auto& [name, value] : line.metrics) add_number(out, name, value);
  if (line.learning_rate) add_number(out, "learning_rate", *line.learning_rate);
  if (line.samples_per_second) add_number(out, "samples_per_second", *line.samples_per_second);
  add_number(out, "time", line.time);
  return out + '}';
}

double unix_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool has_lines_after(const std::string& path, std::uint64_t bytes) {
  return path_exists(path) && whole_lines(path, UINT64_MAX) > bytes;
}

MetricsLog::MetricsLog(const std::string& path, std::uint64_t keep_bytes) : file_(path) {
  if (file_.length() < keep_bytes) missing_bytes_ = keep_bytes - file_.length();
  if (missing_bytes_ > 0)
    file_.cut_to(whole_lines(path, file_.length()));
  else if (file_.length() > keep_bytes)
    file_.cut_to(keep_bytes);
}

void MetricsLog::append(const MetricsLine& line) { file_.append(to_json(line) + '\n'); }

}  // namespace stoker::telemetry
