#include "lib/telemetry/run_record.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "lib/base/files.h"
#include "tests/unit/telemetry/telemetry_folder.h"

namespace stoker::telemetry {
namespace {

using json = nlohmann::ordered_json;

RunDescription description() {
  RunDescription d;
  d.command = {"stoker", "train", "--model", "m.json"};
  d.options = {{"batch_size", 32}, {"optimizer", "adam"}};
  d.seeds = {{"seed", 7}};
  d.digests = {{"model", "00ff"}};
  d.versions = {{"stoker", "0.1.0"}};
  d.instruction_set = "avx2";
  d.topology = {{"ranks", 2}};
  d.environment = chosen_environment();
  return d;
}

json on_disk(const std::string& path) { return json::parse(read_file(path)); }

TEST(RunRecord, HoldsWhatIsNeededToRunItAgain) {
  const TestFolder folder;
  RunRecord record(folder / "run.json");
  EXPECT_TRUE(record.earlier().is_null());
  record.start(description(), 0);
  const json document = on_disk(folder / "run.json");
  EXPECT_EQ(document["command"], json({"stoker", "train", "--model", "m.json"}));
  EXPECT_EQ(document["options"]["batch_size"], 32);
  EXPECT_EQ(document["instruction_set"], "avx2");
  EXPECT_EQ(document["attempts"].size(), 1u);
  EXPECT_EQ(document["attempts"][0]["outcome"], "running");
  EXPECT_TRUE(document["attempts"][0]["end"].is_null());
}

TEST(RunRecord, EveryAttemptStaysWithItsOutcome) {
  const TestFolder folder;
  const std::string path = folder / "run.json";
  {
    RunRecord first(path);
    first.start(description(), 0);
    first.finish("stopped", 75, {{"steps", 10}});
  }
  {
    RunRecord second(path);  // crashes: no finish
    EXPECT_EQ(second.earlier()["options"]["optimizer"], "adam");
    second.start(description(), 10);
  }
  RunRecord third(path);
  third.start(description(), 20);
  third.finish("done", 0, {{"steps", 30}});
  const json attempts = on_disk(path)["attempts"];
  ASSERT_EQ(attempts.size(), 3u);
  EXPECT_EQ(attempts[0]["outcome"], "stopped");
  EXPECT_EQ(attempts[0]["exit_code"], 75);
  EXPECT_EQ(attempts[0]["steps"], 10);
  EXPECT_EQ(attempts[1]["outcome"], "interrupted");
  EXPECT_TRUE(attempts[1]["end"].is_null());
  EXPECT_EQ(attempts[2]["outcome"], "done");
  EXPECT_EQ(attempts[2]["resumed_step"], 20);
  EXPECT_TRUE(attempts[2]["end"].is_string());
}

TEST(RunRecord, AFileThatIsNoRecordIsReplacedAndThatIsSaid) {
  for (const char* text : {"", "{", "[]", "{\"attempts\": 3}", "{\"attempts\": [1]}"}) {
    const TestFolder folder;
    write_text(folder / "run.json", text);
    RunRecord record(folder / "run.json");
    EXPECT_TRUE(record.replaced()) << text;
    record.start(description(), 0);
    EXPECT_EQ(on_disk(folder / "run.json")["attempts"].size(), 1u);
  }
}

TEST(RunRecord, TextThatIsNoUtf8StillGivesAFile) {
  const TestFolder folder;
  RunRecord record(folder / "run.json");
  RunDescription d = description();
  d.command.push_back("--model=\xff\xfe");
  record.start(d, 0);
  EXPECT_EQ(on_disk(folder / "run.json")["command"].size(), 5u);
}

TEST(RunRecord, OnlyChosenVariablesAndNoSecrets) {
  ::setenv("OMP_NUM_THREADS", "3", 1);
  ::setenv("STOKER_API_KEY", "hidden", 1);
  ::setenv("SOMETHING_ELSE", "hidden", 1);
  const json environment = chosen_environment();
  EXPECT_EQ(environment["OMP_NUM_THREADS"], "3");
  EXPECT_EQ(environment.dump().find("hidden"), std::string::npos);
}

TEST(RunRecord, TimesAreUtc) {
  EXPECT_EQ(utc_time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_time_text(1767225600.9), "2026-01-01T00:00:00Z");
}

}  // namespace
}  // namespace stoker::telemetry
