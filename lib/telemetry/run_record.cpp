#include "lib/telemetry/run_record.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <string_view>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/telemetry/metrics_log.h"

namespace stoker::telemetry {
namespace {

using json = nlohmann::ordered_json;

constexpr std::string_view kPrefixes[] = {"OMP_",    "GOMP_", "SLURM_", "OMPI_COMM_WORLD_", "OMPI_MCA_",
                                          "STOKER_", "HDF5_", "DNNL_",  "ONEDNN_"};
constexpr std::string_view kNames[] = {"CUDA_VISIBLE_DEVICES"};
constexpr std::string_view kSecrets[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"};

bool is_chosen(std::string_view name) {
  const auto occurs = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return (std::any_of(std::begin(kPrefixes), std::end(kPrefixes), begins) ||
          std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) &&
         std::none_of(std::begin(kSecrets), std::end(kSecrets), occurs);
}

bool is_run_record(const json& document) {
  if (!document.is_object() || !document.contains("attempts") || !document["attempts"].is_array())
    return false;
  return std::all_of(document["attempts"].begin(), document["attempts"].end(),
                     [](const json& attempt) { return attempt.is_object(); });
}

}  // namespace

json chosen_environment() {
  std::map<std::string, std::string> chosen;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_chosen(text.substr(0, equals))) continue;
    chosen.emplace(text.substr(0, equals), printable(text.substr(equals + 1)));
  }
  return json(chosen);
}

std::string utc_time_text(double unix_seconds) {
  const auto seconds = static_cast<std::time_t>(std::floor(unix_seconds));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

RunRecord::RunRecord(std::string path) : path_(std::move(path)) {
  if (!path_exists(path_)) return;
  json document = json::parse(read_file(path_), nullptr, /*allow_exceptions=*/false);
  if (is_run_record(document))
    earlier_ = std::move(document);
  else
    replaced_ = true;
}

void RunRecord::start(const RunDescription& description, std::int64_t resumed_step) {
  json attempts = earlier_.is_null() ? json::array() : earlier_["attempts"];
  for (json& attempt : attempts)
    if (attempt.value("outcome", "") == "running") attempt["outcome"] = "interrupted";
  attempts.push_back({{"start", utc_time_text(unix_seconds())},
                      {"end", nullptr},
                      {"outcome", "running"},
                      {"resumed_step", resumed_step},
                      {"command", description.command},
                      {"topology", description.topology},
                      {"environment", description.environment}});
  record_ = {{"format", 1},
             {"command", description.command},
             {"options", description.options},
             {"seeds", description.seeds},
             {"digests", description.digests},
             {"versions", description.versions},
             {"instruction_set", description.instruction_set},
             {"environment", description.environment},
             {"topology", description.topology},
             {"attempts", std::move(attempts)}};
  write();
}

void RunRecord::finish(const std::string& outcome, int exit_code, const json& figures) {
  json& attempt = record_["attempts"].back();
  attempt["end"] = utc_time_text(unix_seconds());
  attempt["outcome"] = outcome;
  attempt["exit_code"] = exit_code;
  if (figures.is_object()) attempt.update(figures);
  write();
}

void RunRecord::write() const {
  // Text from a command line may be no UTF-8; the record must still be written.
  write_file_atomically(path_, record_.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace stoker::telemetry
