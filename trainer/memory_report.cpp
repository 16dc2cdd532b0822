#include "trainer/memory_report.h"

#include <fmt/format.h>

#include "lib/base/text.h"

namespace stoker::trainer {
namespace {
std::string bytes(std::int64_t count) { return format_bytes(static_cast<std::uint64_t>(count)); }
}  // namespace

nlohmann::ordered_json to_json(const MemoryReport& r) {
  return {
      {"parameters", r.parameters},       {"gradients", r.gradients}, {"gradient_slots", r.gradient_slots},
      {"optimizer", r.optimizer},         {"arena", r.arena},         {"checkpoint", r.checkpoint},
      {"communication", r.communication}, {"total", r.total()}};
}

std::string to_text(const MemoryReport& r) {
  return fmt::format(
      "memory of a rank: {} (activations {}, parameters {}, gradients {} in {} buffer{}, optimizer {}, "
      "checkpoint {}, "
      "communication {})",
      bytes(r.total()), bytes(r.arena), bytes(r.parameters), bytes(r.gradients), r.gradient_slots,
      r.gradient_slots == 1 ? "" : "s", bytes(r.optimizer), bytes(r.checkpoint), bytes(r.communication));
}

}  // namespace stoker::trainer
