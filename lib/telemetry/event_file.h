// TensorBoard event files: scalars only.
//
// Format: TFRecord frames (u64 length, u32 masked CRC-32C of it, data, u32 masked CRC-32C of the data;
// little-endian), each holding a tensorflow.Event protobuf (tensorflow/core/util/event.proto). The fields
// used:
//   Event        1 wall_time double · 2 step int64 · 3 file_version string · 5 summary message ·
//                7 session_log message
//   Summary      1 value repeated message
//   Value        1 tag string · 2 simple_value float
//   SessionLog   1 status enum (START = 1)
// The first event is file_version "brain.Event:2".
//
// Every attempt of a run writes a file of its own, whose name sorts after those that exist: TensorBoard reads
// a folder's files in that order. After the version it says SessionLog START with the first step that it will
// write, at which TensorBoard drops the events of that step and later ones from the files before: a step that
// a crash made the run repeat appears once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/telemetry/append_file.h"

namespace stoker::telemetry {

struct Scalar {
  std::string tag;  // "loss"
  double value = 0;
};

// Only rank 0 has them, one for a folder (tensorboard/train, tensorboard/validation). Not thread-safe.
// Failing calls throw SystemError; an event of which only a part could be written is taken back first, so the
// caller may warn and go on.
class EventFile {
 public:
  // Makes the folder and the file, with both first events in it already: a short run leaves no empty file.
  // first_step, counted from 1: nothing before it will be added, and what earlier files have of it and of
  // later steps no longer counts.
  EventFile(const std::string& folder, std::int64_t first_step);

  // One event with all scalars, by one write(2): a killed process leaves whole events. wall_time in seconds
  // since 1970.
  void add(std::int64_t step, double wall_time, std::span<const Scalar> scalars);

  const std::string& path() const { return file_.path(); }

 private:
  void write_event(std::string_view event);

  AppendFile file_;
};

}  // namespace stoker::telemetry
