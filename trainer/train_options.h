// The options of `stoker train`, typed and checked as far as they can be without files.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/options.h"

namespace stoker::trainer {

enum class Resume { automatic, never, directory };

// --checkpoint-every: one of the three is set.
struct CheckpointInterval {
  std::int64_t steps = 0, epochs = 0;
  double seconds = 0;
};

struct TrainOptions {
  std::string model, train_data;
  std::optional<std::string> weights, validation;
  double validation_split = 0;
  std::optional<std::string> loss, optimizer, schedule;
  std::vector<std::string> metrics;
  bool metrics_given = false;
  std::optional<double> learning_rate, clip_norm;
  std::int64_t batch_size = 32;
  std::optional<std::int64_t> virtual_ranks, epochs, steps;
  bool shuffle = true;
  std::uint64_t seed = 0;
  std::string augment;
  std::string output;
  Resume resume = Resume::automatic;
  std::string resume_directory;
  std::int64_t keep = 3;
  CheckpointInterval checkpoint_every;
  std::int64_t log_every = 10;
  std::optional<int> threads;
  int input_threads = 0;  // 0: chosen
  std::string device;
  bool library_all_reduce = false;
  std::vector<std::string> freeze;
  double timeout = 60;      // seconds of silence that end the job
  nlohmann::json as_given;  // every option with a value, for run.json
};

std::span<const OptionSpec> train_option_specs();
TrainOptions read_train_options(const Options& options);

}  // namespace stoker::trainer
