#include "lib/comm/communicator.h"

#include <algorithm>

namespace stoker::comm {
namespace {

template <typename T>
void reduce_gathered(Communicator& communicator, std::span<T> values, ReduceOperation operation) {
  const std::vector<std::string> parts =
      communicator.all_gather({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  for (std::size_t r = 0; r < parts.size(); ++r) {
    if (parts[r].size() != values.size_bytes())
      throw SystemError("reduce failed", "rank " + std::to_string(r) + " sent another number of values");
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, parts[r].data() + i * sizeof(T), sizeof(T));
      if (r == 0) {
        values[i] = value;
        continue;
      }
      switch (operation) {
        case ReduceOperation::minimum:
          values[i] = std::min(values[i], value);
          break;
        case ReduceOperation::maximum:
          values[i] = std::max(values[i], value);
          break;
        case ReduceOperation::sum:
          values[i] += value;
          break;
      }
    }
  }
}

}  // namespace

void Communicator::reduce(std::span<std::int64_t> values, ReduceOperation operation) {
  reduce_gathered(*this, values, operation);
}

void Communicator::reduce(std::span<double> values, ReduceOperation operation) {
  reduce_gathered(*this, values, operation);
}

std::string Communicator::broadcast_string(std::string_view text, int root) {
  std::int64_t length = static_cast<std::int64_t>(text.size());
  broadcast(&length, sizeof length, root);
  std::string result(rank() == root ? text : std::string_view());
  result.resize(static_cast<std::size_t>(length));
  broadcast(result.data(), length, root);
  return result;
}

}  // namespace stoker::comm
