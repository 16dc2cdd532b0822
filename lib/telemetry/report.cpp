#include "lib/telemetry/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "lib/base/text.h"
#include "lib/telemetry/progress.h"

namespace stoker::telemetry {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr double kWorthwhile = 0.02;
constexpr double kThreadEfficiency = 0.8;

// The mean over ranks, in seconds.
struct Means {
  double phase[kPhases] = {};
  double wall = 0, hidden = 0, straggler = 0;
  double operator[](Phase p) const { return phase[static_cast<std::size_t>(p)]; }
  double computing() const {
    const Means& m = *this;
    return m[Phase::forward] + m[Phase::backward] + m[Phase::optimizer];
  }
  double training() const { return wall - (*this)[Phase::start_up]; }
};

Means means_of(const RunFigures& figures) {
  Means m;
  const double weight = kNanosecond / static_cast<double>(figures.ranks.size());
  for (const RankFigures& rank : figures.ranks) {
    for (std::size_t i = 0; i < kPhases; ++i) m.phase[i] += weight * static_cast<double>(rank.times.ns[i]);
    m.wall += weight * static_cast<double>(rank.times.wall_ns);
    m.hidden += weight * static_cast<double>(rank.times.hidden_all_reduce_ns);
    m.straggler += weight * static_cast<double>(rank.times.straggler_ns);
  }
  m.straggler = std::min(m.straggler, m[Phase::all_reduce]);
  return m;
}

double samples_per_second(const RunFigures& figures, const Means& m) {
  return m.training() > 0 ? static_cast<double>(figures.samples) / m.training() : 0;
}

// The rank for which the others waited: the one that waited least itself.
std::size_t straggler_of(const RunFigures& figures) {
  const auto less = [](const RankFigures& a, const RankFigures& b) {
    return a.times.straggler_ns < b.times.straggler_ns;
  };
  return static_cast<std::size_t>(std::min_element(figures.ranks.begin(), figures.ranks.end(), less) -
                                  figures.ranks.begin());
}

std::string input_text(const RunFigures& figures, double share) {
  const int idle = figures.cores_available - figures.compute_threads - figures.input_threads;
  const std::string wait = fmt::format("the device waits {:.0f} % of the time for input: ", 100 * share);
  if (idle > 0) return wait + fmt::format("give input more threads, {} cores a rank are idle", idle);
  return wait + "give input more cores, fewer compute threads, or data that needs less decoding";
}

std::vector<Advice> all_advice(const RunFigures& figures) {
  const Means m = means_of(figures);
  std::vector<Advice> advice;
  if (m.training() <= 0) return advice;
  const auto share = [&](double seconds) { return seconds / m.training(); };
  const auto add = [&](double saved, std::string text) {
    saved = std::min(saved, 0.95);
    advice.push_back({std::move(text), 1 / (1 - saved) - 1});
  };
  const double input = share(m[Phase::input_wait]), straggler = share(m.straggler);
  const double wire = share(m[Phase::all_reduce]) - straggler;
  add(input, input_text(figures, input));
  const std::size_t slow = straggler_of(figures);
  add(straggler,
      fmt::format("rank {} on {} is slower than the others, which wait {:.0f} % of the time for it: "
                  "look for other work on that host, or leave it out",
                  slow, figures.ranks[slow].host, 100 * straggler));
  add(wire / 2, fmt::format("{:.0f} % of the time is communication that computing does not hide: "
                            "a batch of {} instead of {} halves it, or use fewer ranks",
                            100 * wire, 2 * figures.batch_size, figures.batch_size));
  const double stall = share(m[Phase::checkpoint_stall]), evaluation = share(m[Phase::evaluation]);
  const double logging = share(m[Phase::logging]);
  add(stall / 2,
      fmt::format("saving stops training {:.0f} % of the time: a longer --checkpoint-every", 100 * stall));
  add(evaluation / 2,
      fmt::format("validation takes {:.0f} % of the time: use a smaller part of it", 100 * evaluation));
  add(logging / 2, fmt::format("logging takes {:.0f} % of the time: a larger --log-every", 100 * logging));
  if (figures.compute_threads < figures.cores_available) {
    const double idle = 1 - static_cast<double>(figures.compute_threads) / figures.cores_available;
    add(kThreadEfficiency * share(m.computing() + m[Phase::evaluation]) * idle,
        fmt::format("{} of {} cores a rank compute: --threads {}", figures.compute_threads,
                    figures.cores_available, figures.cores_available));
  }
  return advice;
}

}  // namespace

std::optional<Advice> best_advice(const RunFigures& figures) {
  const std::vector<Advice> advice = all_advice(figures);
  const auto best = std::max_element(advice.begin(), advice.end(),
                                     [](const Advice& a, const Advice& b) { return a.gain < b.gain; });
  if (best == advice.end() || best->gain < kWorthwhile) return std::nullopt;
  return *best;
}

nlohmann::ordered_json report_json(const RunFigures& figures) {
  const Means m = means_of(figures);
  nlohmann::ordered_json breakdown, per_rank = nlohmann::ordered_json::array();
  for (std::size_t i = 1; i < kPhases; ++i) {
    const Phase phase = static_cast<Phase>(i);
    breakdown[std::string(key_of(phase))] = m[phase];
  }
  breakdown["unexplained"] = m[Phase::unexplained];
  for (const RankFigures& rank : figures.ranks)
    per_rank.push_back(
        {{"host", rank.host},
         {"wall_seconds", kNanosecond * static_cast<double>(rank.times.wall_ns)},
         {"device_busy", rank.times.busy()},
         {"straggler_wait_seconds", kNanosecond * static_cast<double>(rank.times.straggler_ns)}});
  nlohmann::ordered_json report = {{"outcome", figures.outcome},
                                   {"steps", figures.steps},
                                   {"samples", figures.samples},
                                   {"batch_size", figures.batch_size},
                                   {"virtual_ranks", figures.virtual_ranks},
                                   {"ranks", figures.ranks.size()},
                                   {"compute_threads", figures.compute_threads},
                                   {"input_threads", figures.input_threads},
                                   {"wall_seconds", m.wall},
                                   {"samples_per_second", samples_per_second(figures, m)},
                                   {"device_busy", m.training() > 0 ? m.computing() / m.training() : 0},
                                   {"breakdown", breakdown},
                                   {"all_reduce_exposed_straggler", m.straggler},
                                   {"all_reduce_exposed_wire", m[Phase::all_reduce] - m.straggler},
                                   {"all_reduce_hidden", m.hidden},
                                   {"bytes_sent", figures.bytes_sent},
                                   {"per_rank", per_rank},
                                   {"advice", nullptr}};
  if (figures.peak_memory_bytes > 0) report["peak_memory_bytes"] = figures.peak_memory_bytes;
  if (const auto advice = best_advice(figures))
    report["advice"] = {{"text", advice->text}, {"estimated_gain", advice->gain}};
  return report;
}

std::string report_text(const RunFigures& figures) {
  const Means m = means_of(figures);
  const double wall = std::max(m.wall, std::numeric_limits<double>::min());
  std::string text = fmt::format(
      "{}: {} steps, {} samples in {} on {} rank{} × {} thread{}, {:.1f} samples/s after start-up\n",
      figures.outcome, figures.steps, figures.samples, format_duration(m.wall), figures.ranks.size(),
      figures.ranks.size() == 1 ? "" : "s", figures.compute_threads, figures.compute_threads == 1 ? "" : "s",
      samples_per_second(figures, m));
  const auto line = [&](std::string_view name, double seconds, std::string_view note = "") {
    text += fmt::format("  {:<22}{:>10.2f} s {:>6.1f} %{}\n", name, seconds, 100 * seconds / wall, note);
  };
  for (std::size_t i = 1; i < kPhases; ++i) {
    const Phase phase = static_cast<Phase>(i);
    if (m[phase] == 0) continue;
    line(name_of(phase), m[phase],
         phase == Phase::all_reduce
             ? fmt::format("  of it {:.2f} s waiting for the slowest rank", m.straggler)
             : "");
  }
  line("unexplained", m[Phase::unexplained]);
  line("wall time", m.wall, figures.ranks.size() > 1 ? "  mean over ranks" : "");
  if (m.hidden > 0) text += fmt::format("  hidden behind computing: all-reduce {:.2f} s\n", m.hidden);
  if (figures.bytes_sent > 0) text += "  sent by all ranks: " + format_bytes(figures.bytes_sent) + "\n";
  if (figures.peak_memory_bytes > 0)
    text += "  peak memory of a rank: " + format_bytes(figures.peak_memory_bytes) + "\n";
  if (const auto advice = best_advice(figures))
    text +=
        fmt::format("What would help most (about {:.0f} % faster): {}\n", 100 * advice->gain, advice->text);
  else
    text += fmt::format(
        "Nothing cheap is left to gain: the device computes {:.0f} % of the time after start-up\n",
        m.training() > 0 ? 100 * m.computing() / m.training() : 0);
  return text;
}

}  // namespace stoker::telemetry
