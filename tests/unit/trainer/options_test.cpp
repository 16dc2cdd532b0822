#include <gtest/gtest.h>

#include <fstream>

#include "lib/base/error.h"
#include "trainer/train_options.h"

namespace stoker::trainer {
namespace {

TrainOptions train(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m.json", "--train", "d.h5"});
  return read_train_options(parse_options(train_option_specs(), arguments, "stoker train"));
}

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    train(arguments);
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

TEST(TrainOptions, DefaultsAreTheContracts) {
  const TrainOptions o = train({});
  EXPECT_EQ(o.batch_size, 32);
  EXPECT_EQ(o.epochs, 1);
  EXPECT_FALSE(o.steps);
  EXPECT_TRUE(o.shuffle);
  EXPECT_EQ(o.output, "stoker-run");
  EXPECT_EQ(o.keep, 3);
  EXPECT_EQ(o.checkpoint_every.epochs, 1);
  EXPECT_EQ(o.log_every, 10);
  EXPECT_FALSE(o.library_all_reduce);
}

TEST(TrainOptions, StepsAloneLeaveEpochsOpen) {
  const TrainOptions o = train({"--steps", "7"});
  EXPECT_EQ(o.steps, 7);
  EXPECT_FALSE(o.epochs);
}

TEST(TrainOptions, Intervals) {
  EXPECT_EQ(train({"--checkpoint-every", "500steps"}).checkpoint_every.steps, 500);
  EXPECT_EQ(train({"--checkpoint-every=2epochs"}).checkpoint_every.epochs, 2);
  EXPECT_EQ(train({"--checkpoint-every", "1.5m"}).checkpoint_every.seconds, 90);
  for (const char* bad : {"0steps", "1.5steps", "10", "m", "-1epoch", "1e3steps", "10days"})
    EXPECT_THROW(train({"--checkpoint-every", bad}), UserError) << bad;
}

TEST(TrainOptions, WhatIsWrongIsNamed) {
  EXPECT_NE(error_of({"--batch-sise", "3"}).find("--batch-sise"), std::string::npos);
  EXPECT_NE(error_of({"--batch-size", "many"}).find("--batch-size many"), std::string::npos);
  EXPECT_NE(error_of({"--batch-size", "0"}), "");
  EXPECT_NE(error_of({"--seed", "-1"}), "");
  EXPECT_NE(error_of({"--learning-rate", "nan"}), "");
  EXPECT_NE(error_of({"--epochs", "1", "--epochs", "2"}).find("twice"), std::string::npos);
  EXPECT_NE(error_of({"stray"}).find("stray"), std::string::npos);
  EXPECT_NE(error_of({"--validation", "a", "--validation-split", "0.1"}), "");
  // No guessing: an abbreviation may become ambiguous with the next release.
  EXPECT_NE(error_of({"--batch", "3"}), "");
}

TEST(TrainOptions, TheCommandLineWinsOverTheFile) {
  const std::string file = testing::TempDir() + "/stoker-options.cfg";
  std::ofstream(file) << "# a comment\nbatch-size = 7\nepochs=3\nloss = huber:delta=2\n";
  const TrainOptions o = train({"--config", file, "--epochs", "5"});
  EXPECT_EQ(o.batch_size, 7);
  EXPECT_EQ(o.epochs, 5);
  EXPECT_EQ(o.loss, "huber:delta=2");
  std::ofstream(file) << "bach-size = 7\n";
  EXPECT_NE(error_of({"--config", file}).find("bach-size"), std::string::npos);
  std::ofstream(file) << "nonsense\n";
  EXPECT_NE(error_of({"--config", file}), "");
  EXPECT_NE(error_of({"--config", file + ".none"}), "");
}

}  // namespace
}  // namespace stoker::trainer
