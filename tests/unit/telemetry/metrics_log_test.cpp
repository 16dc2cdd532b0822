#include "lib/telemetry/metrics_log.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "tests/unit/telemetry/telemetry_folder.h"

namespace stoker::telemetry {
namespace {

MetricsLine line_of(std::int64_t step) {
  MetricsLine line;
  line.phase = "train";
  line.step = step;
  line.loss = 0.1 * static_cast<double>(step);
  line.metrics = {{"accuracy", 0.75}};
  line.learning_rate = 0.01;
  line.samples_per_second = 4096.5;
  line.time = 1767225600.125;
  return line;
}

TEST(MetricsLog, FieldsInTheOrderOfTheContract) {
  EXPECT_EQ(to_json(line_of(1)),
            R"({"phase":"train","epoch":0,"step":1,"loss":0.1,"accuracy":0.75,"learning_rate":0.01,)"
            R"("samples_per_second":4096.5,"time":1767225600.125})");
  MetricsLine validation = line_of(2);
  validation.phase = "validation";
  validation.learning_rate.reset();
  validation.samples_per_second.reset();
  EXPECT_EQ(to_json(validation),
            R"({"phase":"validation","epoch":0,"step":2,"loss":0.2,"accuracy":0.75,"time":1767225600.125})");
}

TEST(MetricsLog, NumbersReadBackAsTheSameBits) {
  MetricsLine line = line_of(1);
  for (const double value : {1.0 / 3, 5e-324, 1.7976931348623157e308, 0.30000000000000004, 123456789.0}) {
    line.loss = value;
    const double back = nlohmann::json::parse(to_json(line))["loss"].get<double>();
    EXPECT_EQ(back, value);
  }
}

TEST(MetricsLog, NaNAndInfinityAreNull) {
  MetricsLine line = line_of(1);
  line.loss = std::numeric_limits<double>::quiet_NaN();
  line.metrics = {{"mae", std::numeric_limits<double>::infinity()}, {"a \"name\"", 1}};
  const auto document = nlohmann::json::parse(to_json(line));
  EXPECT_TRUE(document["loss"].is_null());
  EXPECT_TRUE(document["mae"].is_null());
  EXPECT_EQ(document["a \"name\""], 1);
}

TEST(MetricsLog, AResumedRunCutsAtTheCheckpointAndATornLine) {
  const TestFolder folder;
  const std::string path = folder / "metrics.jsonl";
  std::uint64_t at_checkpoint = 0;
  {
    MetricsLog log(path, 0);
    log.append(line_of(1));
    log.append(line_of(2));
    at_checkpoint = log.length();
    log.sync();
    log.append(line_of(3));
  }
  write_text(path, read_file(path) + R"({"phase":"tra)");
  MetricsLog log(path, at_checkpoint);
  EXPECT_EQ(log.missing_bytes(), 0u);
  EXPECT_EQ(log.length(), at_checkpoint);
  log.append(line_of(3));
  EXPECT_EQ(read_file(path),
            to_json(line_of(1)) + "\n" + to_json(line_of(2)) + "\n" + to_json(line_of(3)) + "\n");
  EXPECT_EQ(log.length(), read_file(path).size());
}

TEST(MetricsLog, AFileShorterThanTheCheckpointSaysIsCutAfterItsLastWholeLine) {
  const TestFolder folder;
  const std::string path = folder / "metrics.jsonl";
  const std::string whole = to_json(line_of(1)) + "\n";
  write_text(path, whole + "{\"pha");
  const MetricsLog log(path, 10'000);
  EXPECT_EQ(log.missing_bytes(), 10'000 - whole.size() - 5);
  EXPECT_EQ(read_file(path), whole);
  const MetricsLog absent(folder / "absent.jsonl", 7);
  EXPECT_EQ(absent.missing_bytes(), 7u);
}

TEST(MetricsLog, LinesBehindALength) {
  const TestFolder folder;
  const std::string path = folder / "metrics.jsonl";
  EXPECT_FALSE(has_lines_after(path, 0));
  write_text(path, "{}\n{}\n{");
  EXPECT_TRUE(has_lines_after(path, 0));
  EXPECT_TRUE(has_lines_after(path, 3));
  EXPECT_FALSE(has_lines_after(path, 6));
  EXPECT_FALSE(has_lines_after(path, 100));
}

TEST(MetricsLog, AFreshRunEmptiesTheFile) {
  const TestFolder folder;
  write_text(folder / "metrics.jsonl", "old\n");
  const MetricsLog log(folder / "metrics.jsonl", 0);
  EXPECT_EQ(read_file(folder / "metrics.jsonl"), "");
}

TEST(MetricsLog, AFolderThatIsNotThereIsASystemError) {
  const TestFolder folder;
  EXPECT_THROW(MetricsLog(folder / "no/metrics.jsonl", 0), SystemError);
}

}  // namespace
}  // namespace stoker::telemetry
