#include "trainer/saver.h"

#include "lib/base/log.h"

namespace stoker::trainer {

using checkpoint::SaveState;

Saver::Saver(comm::Communicator& communicator, checkpoint::WriterOptions options)
    : communicator_(communicator),
      last_step_(options.resumed_from.value_or(-1)),
      writer_(std::move(options)) {}

void Saver::vote(Votes& votes) const {
  if (!open_) return;
  const SaveState state = writer_.state();
  votes[static_cast<std::size_t>(Vote::shard_durable)] = state == SaveState::durable ? 1.0f : 0.0f;
  votes[static_cast<std::size_t>(Vote::save_failed)] = state == SaveState::failed ? 1.0f : 0.0f;
}

void Saver::after_step(float durable, float failed) {
  report_commit();
  if (!open_) return;
  if (failed > 0) settle(false);
  if (durable == static_cast<float>(communicator_.size())) settle(true);
}

void Saver::settle(bool all_durable) {
  open_ = false;
  if (!all_durable) {
    if (writer_.state() == SaveState::failed) fail(writer_.message());
    writer_.abandon();
  } else if (communicator_.rank() == 0) {
    writer_.commit();
    committing_ = true;
  } else {
    writer_.release();
  }
}

void Saver::fail(const std::string& why) {
  failure_ = why;
  say_warning_here("the checkpoint was not written: " + why);
}

void Saver::report_commit() {
  if (!committing_ || writer_.state() == SaveState::committing) return;
  committing_ = false;
  if (writer_.state() == SaveState::failed) {
    fail(writer_.message());
    writer_.abandon();
    return;
  }
  if (!writer_.message().empty()) say_warning_here("checkpoint: " + writer_.message());
  writer_.release();
}

void Saver::begin(std::int64_t step, std::span<const checkpoint::TensorSource> tensors,
                  const nlohmann::json& state) {
  finish();
  writer_.begin(step, tensors, state);
  open_ = true;
  last_step_ = step;
}

std::string Saver::finish() {
  if (open_) {
    std::int64_t durable = writer_.wait() == SaveState::durable ? 1 : 0;
    communicator_.reduce({&durable, 1}, comm::ReduceOperation::minimum);
    settle(durable == 1);
  }
  if (committing_) {
    writer_.wait();
    report_commit();
  }
  const std::vector<std::string> failures = communicator_.all_gather(failure_);
  failure_.clear();
  for (const std::string& failure : failures)
    if (!failure.empty()) return failure;
  return "";
}

}  // namespace stoker::trainer
