#include "lib/telemetry/event_file.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "lib/base/files.h"
#include "lib/base/hash.h"
#include "tests/unit/telemetry/telemetry_folder.h"

namespace stoker::telemetry {
namespace {

// A reader of the wire format that shares no code with the writer.
struct Fields {
  std::map<std::uint32_t, std::vector<std::string>> bytes;  // length-delimited and fixed-width fields
  std::map<std::uint32_t, std::uint64_t> varints;
};

std::uint64_t take_varint(std::string_view& in) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in.at(0));
    in.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
}

Fields parse(std::string_view in) {
  Fields fields;
  while (!in.empty()) {
    const std::uint64_t key = take_varint(in);
    const auto field = static_cast<std::uint32_t>(key >> 3);
    if ((key & 7) == 0) {
      fields.varints[field] = take_varint(in);
      continue;
    }
    const std::size_t length = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : take_varint(in);
    fields.bytes[field].emplace_back(in.substr(0, length));
    in.remove_prefix(length);
  }
  return fields;
}

template <typename T>
T fixed(std::string_view bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

std::vector<Fields> read_events(const std::string& path) {
  const std::string content = read_file(path);
  std::vector<Fields> events;
  for (std::size_t at = 0; at < content.size();) {
    const auto length = fixed<std::uint64_t>(content.substr(at, 8));
    EXPECT_EQ(fixed<std::uint32_t>(content.substr(at + 8, 4)), masked_crc32c(content.data() + at, 8));
    const std::string data = content.substr(at + 12, length);
    EXPECT_EQ(fixed<std::uint32_t>(content.substr(at + 12 + length, 4)),
              masked_crc32c(data.data(), data.size()));
    events.push_back(parse(data));
    at += 16 + length;
  }
  return events;
}

void add_loss(EventFile& file, std::int64_t step, double loss) {
  const Scalar scalars[] = {{"loss", loss}, {"learning_rate", 0.5}};
  file.add(step, 1000.5 + static_cast<double>(step), scalars);
}

// What TensorBoard reads in a folder; nothing where no Python with tensorboard was named.
std::optional<nlohmann::json> as_tensorboard_reads(const std::string& folder) {
  const char* python = ::getenv("STOKER_PYTHON");
  if (python == nullptr || *python == '\0') return std::nullopt;
  const std::string command = std::string(python) + " " SOURCE_DIR "/tests/unit/telemetry/read_events.py '" +
                              folder + "' 2>/dev/null";
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return nlohmann::json::parse(output, nullptr, false);
}

TEST(EventFile, EventsInWireFormat) {
  const TestFolder folder;
  EventFile file(folder / "train", 1);
  add_loss(file, 300, 0.25);
  const std::vector<Fields> events = read_events(file.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].bytes.at(3).at(0), "brain.Event:2");
  EXPECT_EQ(parse(events[1].bytes.at(7).at(0)).varints.at(1), 1u);
  EXPECT_EQ(events[2].varints.at(2), 300u);
  EXPECT_EQ(fixed<double>(events[2].bytes.at(1).at(0)), 1300.5);
  const Fields summary = parse(events[2].bytes.at(5).at(0));
  ASSERT_EQ(summary.bytes.at(1).size(), 2u);
  const Fields loss = parse(summary.bytes.at(1)[0]);
  EXPECT_EQ(loss.bytes.at(1).at(0), "loss");
  EXPECT_EQ(fixed<float>(loss.bytes.at(2).at(0)), 0.25f);
}

TEST(EventFile, EveryAttemptHasAFileThatSortsAfterTheOthers) {
  const TestFolder folder;
  std::vector<std::string> paths;
  for (int attempt = 0; attempt < 4; ++attempt) paths.push_back(EventFile(folder / "train", 1).path());
  EXPECT_TRUE(std::is_sorted(paths.begin(), paths.end()));
  EXPECT_EQ(std::adjacent_find(paths.begin(), paths.end()), paths.end());
  for (const std::string& path : paths) EXPECT_NE(path.find("tfevents"), std::string::npos);
}

TEST(EventFile, TensorBoardSeesAStepOnceOverCrashesAndResumes) {
  const TestFolder folder;
  {
    EventFile crashed(folder / "train", 1);  // crashes at step 3, before any checkpoint
    for (std::int64_t step = 1; step <= 3; ++step) add_loss(crashed, step, 100 + static_cast<double>(step));
  }
  std::string torn;
  {
    EventFile first(folder / "train", 1);
    for (std::int64_t step = 1; step <= 5; ++step) add_loss(first, step, static_cast<double>(step));
    torn = first.path();
  }
  write_text(torn, read_file(torn) + "\x40\x01");  // killed within a write
  EventFile resumed(folder / "train", 4);          // the checkpoint was at step 3
  for (std::int64_t step = 4; step <= 6; ++step) add_loss(resumed, step, 10 * static_cast<double>(step));

  const auto scalars = as_tensorboard_reads(folder / "train");
  if (!scalars) GTEST_SKIP() << "STOKER_PYTHON is not set: TensorBoard's own reader is not asked";
  EXPECT_EQ((*scalars)["loss"],
            nlohmann::json::parse("[[1, 1.0], [2, 2.0], [3, 3.0], [4, 40.0], [5, 50.0], [6, 60.0]]"));
  EXPECT_EQ((*scalars)["learning_rate"].size(), 6u);
}

}  // namespace
}  // namespace stoker::telemetry
