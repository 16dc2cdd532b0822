// What is read from the command line and from Keras configs, and what is refused.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.h"
#include "lib/optim/optimizer.h"

namespace stoker::optim {
namespace {

OptimizerChoice from_text(const char* text, std::optional<double> clip_norm = std::nullopt) {
  return optimizer_from_options(parse_named_options(text, "--optimizer"), clip_norm);
}

template <typename Function>
std::string refusal(Function function) {
  try {
    function();
  } catch (const UserError& error) {
    return error.what();
  }
  return "not refused";
}

void expect_refused(const char* text, const char* because) {
  const std::string what = refusal([&] { from_text(text); });
  EXPECT_NE(what.find(because), std::string::npos) << text << ": " << what;
}

TEST(OptimizerOptions, DefaultsAreThoseOfKeras) {
  EXPECT_EQ(from_text("sgd").learning_rate, 0.01);
  EXPECT_EQ(from_text("adam").learning_rate, 0.001);
  EXPECT_EQ(from_text("sgd").optimizer->describe(), "sgd:momentum=0,nesterov=false");
  EXPECT_EQ(from_text("adam").optimizer->describe(),
            "adam:beta_1=0.9,beta_2=0.999,epsilon=1e-07,amsgrad=false");
  EXPECT_EQ(from_text("adamw").optimizer->describe(),
            "adamw:beta_1=0.9,beta_2=0.999,epsilon=1e-07,amsgrad=false,weight_decay=0.004");
  EXPECT_EQ(from_text("rmsprop").optimizer->describe(),
            "rmsprop:rho=0.9,momentum=0,epsilon=1e-07,centered=false");
}

TEST(OptimizerOptions, SlotsFollowTheOptions) {
  const auto slots = [](const char* text) {
    const OptimizerChoice choice = from_text(text);
    std::string names;
    for (int i = 0; i < choice.optimizer->slot_count(); ++i) names += choice.optimizer->slot_name(i) + " ";
    return names;
  };
  EXPECT_EQ(slots("sgd"), "");
  EXPECT_EQ(slots("sgd:momentum=0.9"), "momentum ");
  EXPECT_EQ(slots("adam:amsgrad=true"), "momentum velocity velocity_hat ");
  EXPECT_EQ(slots("rmsprop:momentum=0.5,centered=true"), "velocity momentum average_gradient ");
}

TEST(OptimizerOptions, ReadsArguments) {
  EXPECT_EQ(from_text("SGD:learning_rate=0.5,momentum=0.9").learning_rate, 0.5);
  EXPECT_EQ(from_text("adam:clipnorm=none").optimizer->common().clipnorm, std::nullopt);
  EXPECT_EQ(from_text("adam", 2.0).optimizer->common().global_clipnorm, 2.0);
}

TEST(OptimizerOptions, RefusesByName) {
  expect_refused("lamb", "unknown optimizer 'lamb'");
  expect_refused("adam:beta1=0.9", "'beta1' is not known");
  expect_refused("adam:beta_1=x", "'beta_1' is 'x'");
  expect_refused("adam:beta_1=1", "'beta_1'");
  expect_refused("sgd:momentum=2", "'momentum' is '2'");
  expect_refused("sgd:momentum=nan", "'momentum'");
  expect_refused("sgd:nesterov=maybe", "'nesterov'");
  expect_refused("sgd:learning_rate=-1", "'learning_rate'");
  expect_refused("adam:clipnorm=1,clipvalue=1", "give one of clipnorm");
  expect_refused("adam:use_ema=true", "'use_ema'");
  expect_refused("adamw:weight_decay=none", "'weight_decay'");
  EXPECT_NE(refusal([] { from_text("adam:clipvalue=1", 1.0); }).find("--clip-norm"), std::string::npos);
}

TEST(OptimizerOptions, KerasConfigsThatAreNotHonouredAreRefusedByName) {
  const auto refused = [](const char* config) {
    return refusal([&] { optimizer_from_keras(nlohmann::json::parse(config), "m.h5"); });
  };
  const auto names = [&](const char* config, const char* what) {
    const std::string text = refused(config);
    EXPECT_NE(text.find(what), std::string::npos) << config << ": " << text;
    EXPECT_NE(text.find("m.h5"), std::string::npos) << text;
  };
  names(R"({"class_name":"Adam","config":{"use_ema":true}})", "'use_ema'");
  names(R"({"class_name":"Adam","config":{"loss_scale_factor":2.0}})", "'loss_scale_factor'");
  names(R"({"class_name":"Adam","config":{"gradient_accumulation_steps":4}})",
        "'gradient_accumulation_steps'");
  names(R"({"class_name":"SGD","config":{"decay":0.01}})", "'decay'");
  names(R"({"class_name":"Adam","config":{"new_thing":1}})", "'new_thing'");
  names(R"({"class_name":"Lion","config":{}})", "'Lion'");
  names(R"({"class_name":"LossScaleOptimizer","config":{"inner":{}}})", "loss scaling");
  names(R"(["Adam"])", "class_name");
  names(R"({"class_name":"Adam","config":[1]})", "class_name");
  names(R"({"class_name":"SGD","config":{"learning_rate":{"class_name":"PolynomialDecay","config":{}}}})",
        "PolynomialDecay");
  names(
      R"({"class_name":"SGD","config":{"learning_rate":{"class_name":"CosineDecay","config":{"t":1,"decay_steps":2}}}})",
      "'t'");
}

TEST(OptimizerOptions, KerasConfigsInOldSpellings) {
  const auto old = optimizer_from_keras(
      nlohmann::json::parse(
          R"({"class_name":"Custom>AdamW","config":{"lr":0.5,"decay":0.0,"weight_decay":0.1}})"),
      "m.h5");
  EXPECT_EQ(old.learning_rate, 0.5);
  EXPECT_EQ(old.optimizer->common().weight_decay, 0.1);
  EXPECT_EQ(old.optimizer->name(), "adamw");
}

TEST(Attachments, ReadInAllSpellings) {
  const auto json = [](const char* text) { return nlohmann::json::parse(text); };
  EXPECT_TRUE(regularizer_from_keras(nullptr, "x").empty());
  EXPECT_FLOAT_EQ(regularizer_from_keras("l2", "x").l2, 0.01F);
  EXPECT_FLOAT_EQ(regularizer_from_keras("l1_l2", "x").l1, 0.01F);
  EXPECT_TRUE(regularizer_from_keras("L1L2", "x").empty());
  EXPECT_FLOAT_EQ(
      regularizer_from_keras(json(R"({"class_name":"L1L2","config":{"l1":0.5,"l2":0.25}})"), "x").l2, 0.25F);
  EXPECT_EQ(constraint_from_keras(nullptr, "x").kind, Constraint::Kind::none);
  const Constraint max_norm =
      constraint_from_keras(json(R"({"class_name":"MaxNorm","config":{"max_value":3,"axis":[0,1]}})"), "x");
  EXPECT_EQ(max_norm.max_value, 3);
  EXPECT_EQ(max_norm.axes, (std::vector<int>{0, 1}));
  EXPECT_EQ(constraint_from_keras("non_neg", "x").kind, Constraint::Kind::non_negative);
  EXPECT_NE(refusal([&] {
              regularizer_from_keras(json(R"({"class_name":"OrthogonalRegularizer"})"), "layer d");
            }).find("layer d"),
            std::string::npos);
  EXPECT_NE(refusal([&] {
              constraint_from_keras(json(R"({"class_name":"MaxNorm","config":{"axes":1}})"), "layer d");
            }).find("'axes'"),
            std::string::npos);
}

TEST(ScheduleOptions, Shapes) {
  const Schedule step = parse_schedule("step:boundaries=3/7,values=0.1/0.03/0.01", 1, 100);
  EXPECT_EQ(step.learning_rate(3), 0.1F);  // Keras: the boundary itself still has the old value
  EXPECT_EQ(step.learning_rate(4), 0.03F);
  EXPECT_EQ(step.learning_rate(1000), 0.01F);
  EXPECT_EQ(step.length(), 8);
  const Schedule factor = parse_schedule("step:boundaries=10,factor=0.5", 1, 100);
  EXPECT_EQ(factor.learning_rate(11), 0.5F);
  const Schedule warm = parse_schedule("constant:warmup_steps=4", 0.8, 100);
  EXPECT_EQ(warm.learning_rate(0), 0.0F);
  EXPECT_FLOAT_EQ(warm.learning_rate(1), 0.2F);
  EXPECT_FLOAT_EQ(warm.learning_rate(4), 0.8F);
  const Schedule cosine = parse_schedule("cosine:warmup_steps=10", 1, 110);
  EXPECT_TRUE(cosine.length_from_run());
  EXPECT_EQ(cosine.length(), 110);
  EXPECT_FLOAT_EQ(cosine.learning_rate(10), 1.0F);
  EXPECT_FLOAT_EQ(cosine.learning_rate(60), 0.5F);
  EXPECT_EQ(cosine.learning_rate(110), 0.0F);
  EXPECT_EQ(cosine.learning_rate(500), 0.0F);
  EXPECT_FALSE(parse_schedule("cosine:decay_steps=50", 1, 110).length_from_run());
  EXPECT_EQ(parse_schedule("exponential:decay_steps=2,decay_rate=0.5", 1, 9).length(), std::nullopt);
}

TEST(ScheduleOptions, DescriptionIsReadBack) {
  for (const char* text :
       {"constant", "constant:warmup_steps=5,warmup_start=0.01", "step:boundaries=1/2,values=3/2/1",
        "step:boundaries=10/20,factor=0.1", "cosine", "cosine:decay_steps=7,alpha=0.5,warmup_steps=2",
        "cosine:decay_steps=7,warmup_target=2,warmup_steps=2",
        "exponential:decay_steps=3,decay_rate=0.9,staircase=true"}) {
    const Schedule schedule = parse_schedule(text, 0.123, 40);
    const Schedule copy = parse_schedule(schedule.describe(), 9, 9);
    EXPECT_EQ(copy.describe(), schedule.describe());
    for (int step = 0; step < 50; ++step)
      EXPECT_EQ(copy.learning_rate(step), schedule.learning_rate(step)) << text;
  }
}

TEST(ScheduleOptions, RefusesByName) {
  for (const char* text :
       {"linear", "cosine:steps=3", "cosine:decay_steps=0", "cosine:alpha=2", "step",
        "step:boundaries=3/2,factor=1", "step:boundaries=1,values=1", "step:boundaries=1",
        "step:boundaries=1,values=1/2,factor=3", "exponential", "constant:warmup_steps=1.5",
        "constant:warmup_steps=-1", "step:boundaries=x,factor=1", "cosine:warmup_start=1,warmup_target=2",
        "constant:learning_rate=inf"}) {
    const std::string what = refusal([&] { parse_schedule(text, 0.1, 100); });
    EXPECT_NE(what.find("--schedule"), std::string::npos) << text << ": " << what;
  }
}

}  // namespace
}  // namespace stoker::optim
