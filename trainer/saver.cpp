#include "trainer/saver.h"

#include "lib/base/log.h"

namespace stoker::trainer {

using checkpoint::SaveState;

Saver::Saver(comm::Communicator& communicator, checkpoint::WriterOptions options)
    : communicator_(communicator), writer_(std::move(options)) {}

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
    if (writer_.state() == SaveState::failed)
      say_warning_here("the checkpoint was not written: " + writer_.message());
    writer_.abandon();
  } else if (communicator_.rank() == 0) {
    writer_.commit();
    committing_ = true;
  } else {
    writer_.release();
  }
}

void Saver::report_commit() {
  if (!committing_ || writer_.state() == SaveState::committing) return;
  committing_ = false;
  commit_failed_ = writer_.state() == SaveState::failed;
  if (!writer_.message().empty())
    say_warning_here((commit_failed_ ? "the checkpoint was not written: " : "checkpoint: ") +
                     writer_.message());
  commit_failed_ ? writer_.abandon() : writer_.release();
}

void Saver::begin(std::int64_t step, std::span<const checkpoint::TensorSource> tensors,
                  const nlohmann::json& state) {
  finish();
  writer_.begin(step, tensors, state);
  open_ = true;
  last_step_ = step;
}

bool Saver::finish() {
  bool good = true;
  if (open_) {
    const SaveState state = writer_.wait();
    std::int64_t durable = state == SaveState::durable ? 1 : 0;
    communicator_.reduce({&durable, 1}, comm::ReduceOperation::minimum);
    settle(durable == 1);
    good = durable == 1;
  }
  if (committing_) {
    writer_.wait();
    report_commit();
  }
  std::int64_t failed = commit_failed_ ? 1 : 0;
  commit_failed_ = false;
  communicator_.reduce({&failed, 1}, comm::ReduceOperation::maximum);
  return good && failed == 0;
}

}  // namespace stoker::trainer
