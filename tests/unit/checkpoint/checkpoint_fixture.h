// A small model whose every value is a function of the step, and N writers in one process that save it
// together.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lib/checkpoint/reader.h"
#include "lib/checkpoint/writer.h"

namespace stoker::checkpoint {

class TestFolder {
 public:
  TestFolder() {
    // In memory where possible: the tests make thousands of fsyncs, which a busy disk takes minutes for.
    const bool memory = ::access("/dev/shm", W_OK) == 0;
    const std::filesystem::path parent = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "stoker-checkpoint-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Names with slashes and dots, a scalar, an empty tensor, two element types.
inline std::vector<TensorInfo> test_tensors() {
  return {{"parameters/conv2d/kernel", Shape{3, 3, 1, 8}, DType::f32},
          {"parameters/a/b/../c", Shape{7}, DType::f32},
          {"parameters/empty", Shape{0, 4}, DType::f32},
          {"optimizer/iterations", Shape{}, DType::i64},
          {"optimizer/momentum/conv2d/kernel", Shape{3, 3, 1, 8}, DType::f64}};
}

// The tensors' bytes, in order.
struct TestModel {
  std::vector<TensorInfo> infos = test_tensors();
  std::vector<std::vector<std::byte>> data;

  TestModel() {
    for (const TensorInfo& info : infos) data.emplace_back(info.bytes());
  }
  explicit TestModel(std::int64_t step) : TestModel() {
    std::uint64_t x = 0x9E3779B97F4A7C15ull * static_cast<std::uint64_t>(step + 1);
    for (auto& bytes : data)
      for (std::byte& byte : bytes) byte = static_cast<std::byte>((x = x * 6364136223846793005ull + 1) >> 56);
  }
  bool operator==(const TestModel& other) const { return data == other.data; }

  std::vector<TensorSource> sources() const {
    std::vector<TensorSource> all;
    for (std::size_t i = 0; i < infos.size(); ++i) all.push_back({infos[i], data[i].data()});
    return all;
  }
  std::vector<TensorTarget> targets() {
    std::vector<TensorTarget> all;
    for (std::size_t i = 0; i < infos.size(); ++i) all.push_back({infos[i], data[i].data()});
    return all;
  }
};

inline nlohmann::json state_of(std::int64_t step) {
  return {{"step", step}, {"best", exact_json(1e300 * 1e300)}};
}

// What the training loop does, with the votes taken by hand.
class TestRun {
 public:
  explicit TestRun(const std::string& directory, int ranks = 2, int keep = 3, std::uint64_t attempt = 1,
                   std::optional<std::int64_t> resumed_from = std::nullopt) {
    for (int rank = 0; rank < ranks; ++rank)
      writers_.push_back(
          std::make_unique<Writer>(WriterOptions{directory, rank, ranks, keep, attempt, resumed_from, 0.2}));
  }

  Writer& operator[](std::size_t rank) { return *writers_[rank]; }

  void begin(std::int64_t step) {
    const TestModel model(step);
    for (auto& writer : writers_) writer->begin(step, model.sources(), state_of(step));
  }

  // True when the shards of all ranks are durable.
  bool wait_for_shards() {
    bool durable = true;
    for (auto& writer : writers_) durable = writer->wait() == SaveState::durable && durable;
    return durable;
  }

  // The state of rank 0 at the end.
  SaveState save(std::int64_t step) {
    begin(step);
    if (!wait_for_shards()) {
      const std::string message = failed_message();
      for (auto& writer : writers_) writer->abandon();
      message_ = message;
      return SaveState::failed;
    }
    for (std::size_t rank = 1; rank < writers_.size(); ++rank) writers_[rank]->release();
    writers_[0]->commit();
    writers_[0]->wait();
    message_ = writers_[0]->message();
    return writers_[0]->state();
  }

  const std::string& message() const { return message_; }

 private:
  std::string failed_message() const {
    for (const auto& writer : writers_)
      if (writer->state() == SaveState::failed) return writer->message();
    return "";
  }

  std::vector<std::unique_ptr<Writer>> writers_;
  std::string message_;
};

inline std::vector<std::int64_t> complete_steps(const std::string& directory) {
  std::vector<std::int64_t> steps;
  for (const Candidate& candidate : list(directory))
    if (candidate.complete) steps.push_back(candidate.step);
  return steps;
}

// Loads the checkpoint and compares every byte.
inline void expect_holds(const std::string& path, std::int64_t step) {
  EXPECT_EQ(verify(path), std::vector<std::string>());
  TestModel loaded;
  const nlohmann::json state = load(path, loaded.targets());
  EXPECT_EQ(state["step"], step);
  EXPECT_TRUE(loaded == TestModel(step)) << path;
}

}  // namespace stoker::checkpoint
