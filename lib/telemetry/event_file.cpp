#include "lib/telemetry/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "lib/base/files.h"
#include "lib/base/hash.h"
#include "lib/base/text.h"
#include "lib/telemetry/metrics_log.h"

namespace stoker::telemetry {
namespace {

static_assert(std::endian::native == std::endian::little,
              "fixed-width fields are copied as they lie in memory");

// Protobuf wire format (protobuf.dev/programming-guides/encoding): a field is its number and wire type as a
// varint, then the value.
enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint32_t field, WireType type) { put_varint(out, field << 3 | type); }

template <typename T>
void put_fixed(std::string& out, T value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof bytes);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_key(out, field, kLengthDelimited);
  put_varint(out, bytes.size());
  out += bytes;
}

std::string event_head(double wall_time, std::int64_t step) {
  std::string event;
  put_key(event, 1, kFixed64);
  put_fixed(event, wall_time);
  put_key(event, 2, kVarint);
  put_varint(event, static_cast<std::uint64_t>(step));
  return event;
}

constexpr std::string_view kPrefix = "events.out.tfevents.";

// events.out.tfevents.SECONDS.HOST.PID.v2, as TensorFlow names them. SECONDS is later than that of every file
// that exists: the order of names is the order in which TensorBoard reads, and two attempts may start within
// a second.
std::string next_file(const std::string& folder) {
  std::int64_t seconds = static_cast<std::int64_t>(unix_seconds());
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view rest = std::string_view(name).substr(kPrefix.size());
    if (const auto taken = parse_int(rest.substr(0, rest.find('.')))) seconds = std::max(seconds, *taken + 1);
  }
  char host[256] = "localhost";
  static_cast<void>(::gethostname(host, sizeof host - 1));
  return folder + "/" + std::string(kPrefix) + std::to_string(seconds) + "." + host + "." +
         std::to_string(::getpid()) + ".v2";
}

std::string made(const std::string& folder) {
  make_directories(folder);
  return folder;
}

}  // namespace

EventFile::EventFile(const std::string& folder, std::int64_t first_step)
    : file_(next_file(made(folder)), /*fresh=*/true) {
  const double now = unix_seconds();
  std::string version = event_head(now, 0);
  put_bytes(version, 3, "brain.Event:2");
  write_event(version);
  std::string log, start = event_head(now, first_step);
  put_key(log, 1, kVarint);
  put_varint(log, 1);  // START
  put_bytes(start, 7, log);
  write_event(start);
}

void EventFile::add(std::int64_t step, double wall_time, std::span<const Scalar> scalars) {
  std::string summary;
  for (const Scalar& scalar : scalars) {
    std::string value;
    put_bytes(value, 1, scalar.tag);
    put_key(value, 2, kFixed32);
    put_fixed(value, static_cast<float>(scalar.value));
    put_bytes(summary, 1, value);
  }
  std::string event = event_head(wall_time, step);
  put_bytes(event, 5, summary);
  write_event(event);
}

void EventFile::write_event(std::string_view event) {
  std::string frame;
  put_fixed(frame, static_cast<std::uint64_t>(event.size()));
  put_fixed(frame, masked_crc32c(frame.data(), 8));
  frame += event;
  put_fixed(frame, masked_crc32c(event.data(), event.size()));
  file_.append(frame);
}

}  // namespace stoker::telemetry
