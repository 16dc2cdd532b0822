// What the communicator promises, checked on real ranks: mpirun -n N comm_check CASE [argument]. Every rank
// checks for itself; a rank that finds a fault prints it and aborts with 1.
//
//   sums            tree and library all-reduce against the plain recursion, for several V and counts
//   small           barrier, broadcast, gathers, reductions, local ranks
//   abort CODE      the last rank aborts while the others sit in a collective
//   end CODE        rank r asks for code r = 0 ? 0 : CODE in the orderly end; all return the agreed one
//   stop WHEN       the last rank stops itself (SIGSTOP): `before` a collective, or `amid` a long series of them
//   hang            the last rank sleeps for ever instead of coming to a collective
//   factory         only what the program does at its start: make_communicator() and, on a UserError, one line
//                   and code 2
//   overlap         counters: a slow rank shows as the straggler on the others
#include <signal.h>
#include <unistd.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/comm/communicator_factory.h"
#include "lib/comm/mpi_communicator.h"
#include "lib/comm/sum_plan.h"

namespace {

using namespace stoker;
using namespace stoker::comm;

void check(Communicator& communicator, bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "comm_check: rank %d of %d: %s\n", communicator.rank(), communicator.size(),
               what.c_str());
  communicator.abort(1);
}

// The gradient of a leaf: the same on whichever rank computes it. Magnitudes over many decades.
float leaf_value(int leaf, std::int64_t element) {
  std::uint64_t x = static_cast<std::uint64_t>(element) * 0x9E3779B97F4A7C15U +
                    static_cast<std::uint64_t>(leaf + 1) * 0xD1B54A32D192ED03U;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27;
  const auto mantissa = static_cast<float>(static_cast<std::int32_t>(x & 0xFFFFFF) - 0x800000);
  return std::ldexp(mantissa, static_cast<int>(x >> 60) - 30);
}

float plain_sum(int lo, int hi, std::int64_t element) {
  if (hi - lo == 1) return leaf_value(lo, element);
  const int mid = (lo + hi) / 2;
  return plain_sum(lo, mid, element) + plain_sum(mid, hi, element);
}

double sum_of_magnitudes(int leaves, std::int64_t element) {
  double sum = 0;
  for (int leaf = 0; leaf < leaves; ++leaf) sum += std::fabs(leaf_value(leaf, element));
  return sum;
}

// The gradient buffers of one rank after its backward passes.
struct Rank {
  Rank(Communicator& communicator, int leaves, std::int64_t count)
      : schedule(local_schedule(leaves, leaves_of_rank(communicator.rank(), communicator.size(), leaves))),
        slots(static_cast<std::size_t>(schedule.slots), std::vector<float>(static_cast<std::size_t>(count))) {
    for (const auto& step : schedule.steps) {
      std::vector<float>& target = slots[static_cast<std::size_t>(step.slot)];
      for (std::size_t i = 0; i < target.size(); ++i)
        target[i] = leaf_value(step.leaf, static_cast<std::int64_t>(i));
      for (const Merge& merge : step.merges) {
        std::vector<float>& into = slots[static_cast<std::size_t>(merge.into)];
        for (std::size_t i = 0; i < into.size(); ++i)
          into[i] += slots[static_cast<std::size_t>(merge.from)][i];
      }
    }
  }
  LocalSchedule schedule;
  std::vector<std::vector<float>> slots;

  void begin_sum(Communicator& communicator, std::int64_t begin, std::int64_t count) {
    std::vector<float*> subtrees;
    for (const auto& result : schedule.results)
      subtrees.push_back(slots[static_cast<std::size_t>(result.slot)].data() + begin);
    communicator.begin_sum({subtrees, slots[0].data() + begin, count});
  }
};

void check_sum(Communicator& communicator, int leaves, SumMode mode, std::int64_t count,
               std::int64_t bucket) {
  Rank rank(communicator, leaves, count);
  // Buckets from the back to the front, as a backward pass makes them ready.
  for (std::int64_t end = count; end >= 0; end -= bucket) {
    const std::int64_t begin = std::max<std::int64_t>(0, end - bucket);
    rank.begin_sum(communicator, begin, end - begin);
    if (begin == 0) break;
  }
  communicator.wait_all();
  const std::string label = "V " + std::to_string(leaves) + ", count " + std::to_string(count) + ", element ";
  for (std::int64_t i = 0; i < count; ++i) {
    const float got = rank.slots[0][static_cast<std::size_t>(i)], expected = plain_sum(0, leaves, i);
    const bool good = mode == SumMode::tree
                          ? got == expected
                          : std::fabs(got - expected) <= 1e-5 * sum_of_magnitudes(leaves, i);
    if (good) continue;
    check(communicator, false,
          label + std::to_string(i) + ": " + std::to_string(got) + " for " + std::to_string(expected));
  }
  // Library sums need not be those of the tree, but all ranks must hold the same.
  std::uint64_t bits = 0;
  for (const float value : rank.slots[0]) bits = bits * 31 + std::bit_cast<std::uint32_t>(value);
  std::int64_t low = static_cast<std::int64_t>(bits), high = low;
  communicator.reduce(std::span(&low, 1), ReduceOperation::minimum);
  communicator.reduce(std::span(&high, 1), ReduceOperation::maximum);
  check(communicator, low == high, label + "ranks differ");
}

void check_sums(Communicator& communicator) {
  for (const int leaves : {communicator.size(), 8, 12}) {
    if (leaves < communicator.size()) continue;
    for (const SumMode mode : {SumMode::tree, SumMode::library}) {
      communicator.prepare_sums(leaves, mode);
      for (const std::int64_t count : {0, 1, 3, 1023, 1025, 100003})
        check_sum(communicator, leaves, mode, count, 30000);
    }
  }
  // Longer than a unit, and more units than the window holds.
  communicator.prepare_sums(communicator.size(), SumMode::tree);
  check_sum(communicator, communicator.size(), SumMode::tree, (std::int64_t{5} << 20) + 17,
            std::int64_t{4} << 20);
  const SumPlan plan(communicator.rank(), communicator.size(), communicator.size(), SumMode::tree);
  check(communicator, communicator.sum_scratch_bytes() == plan.scratch_bytes(),
        "scratch is not that of the plan");
}

void check_small(Communicator& communicator) {
  const int rank = communicator.rank(), size = communicator.size();
  communicator.barrier();
  std::vector<int> data(1000, rank == size - 1 ? 7 : 0);
  communicator.broadcast(data.data(), static_cast<std::int64_t>(data.size() * sizeof(int)), size - 1);
  check(communicator, data == std::vector<int>(1000, 7), "broadcast");
  check(communicator, communicator.broadcast_string(rank == 0 ? "some text" : "", 0) == "some text",
        "broadcast_string");
  const std::vector<std::string> parts =
      communicator.all_gather(std::string(static_cast<std::size_t>(rank), 'x'));
  for (int r = 0; r < size; ++r)
    check(communicator, parts[static_cast<std::size_t>(r)] == std::string(static_cast<std::size_t>(r), 'x'),
          "all_gather");
  const std::vector<int> records = communicator.all_gather_record(rank * rank);
  for (int r = 0; r < size; ++r)
    check(communicator, records[static_cast<std::size_t>(r)] == r * r, "all_gather_record");
  std::int64_t sums[] = {rank, 1}, least[] = {-rank};
  communicator.reduce(sums, ReduceOperation::sum);
  communicator.reduce(least, ReduceOperation::minimum);
  check(communicator, sums[0] == size * (size - 1) / 2 && sums[1] == size && least[0] == 1 - size,
        "reduce of integers");
  double most[] = {0.5 * rank};
  communicator.reduce(most, ReduceOperation::maximum);
  check(communicator, most[0] == 0.5 * (size - 1), "reduce of doubles");
  check(communicator,
        static_cast<int>(communicator.hosts().size()) == size && !communicator.hosts()[0].empty(), "hosts");
  const LocalRanks local = communicator.local_ranks();
  check(communicator, local.node_size == size && local.node_rank == rank, "ranks of the node");
  check(communicator, local.mask_size >= 1 && local.mask_rank < local.mask_size, "ranks of the cores");
}

void sums_for_ever(Communicator& communicator, int rounds) {
  communicator.prepare_sums(communicator.size(), SumMode::tree);
  std::vector<float> buffer(300000);
  float* const subtree = buffer.data();
  for (int step = 1; step <= rounds; ++step) {
    communicator.set_activity(step, "all-reduce");
    communicator.begin_sum({{&subtree, 1}, buffer.data(), static_cast<std::int64_t>(buffer.size())});
    communicator.wait_all();
  }
}

void check_overlap(Communicator& communicator) {
  communicator.prepare_sums(communicator.size(), SumMode::tree);
  std::vector<float> buffer(1000);
  float* const subtree = buffer.data();
  const bool last = communicator.rank() == communicator.size() - 1;
  communicator.barrier();
  if (last) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  communicator.begin_sum({{&subtree, 1}, buffer.data(), 1000});
  const WaitTime time = communicator.wait_all();
  const SumCounters counters = communicator.counters();
  check(communicator, counters.requests == 1 && counters.bytes_sent > 0, "counters");
  check(communicator, counters.exposed == time.exposed && counters.busy > 0, "times");
  constexpr std::int64_t kMs = 1000000;
  if (last)
    check(communicator, time.straggler < 150 * kMs, "the slow rank waited for others");
  else
    check(communicator, time.straggler > 200 * kMs && time.exposed - time.straggler < 150 * kMs,
          "the slow rank does not show: straggler " + std::to_string(time.straggler / kMs) + " of " +
              std::to_string(time.exposed / kMs) + " ms");
}

void run_case(Communicator& communicator, const std::string& name, const std::string& argument) {
  const bool last = communicator.rank() == communicator.size() - 1;
  if (name == "sums") return check_sums(communicator);
  if (name == "small") return check_small(communicator);
  if (name == "overlap") return check_overlap(communicator);
  if (name == "end") return;
  if (name == "abort") {
    if (last) communicator.abort(std::stoi(argument));
    communicator.barrier();
    return;
  }
  if (name == "hang") {
    communicator.start_watchdog({1, 2});
    communicator.set_activity(3, last ? "reading input" : "all-reduce");
    if (last) ::pause();
    communicator.barrier();
    return;
  }
  if (name == "stop") {
    communicator.start_watchdog({2, 60});
    sums_for_ever(communicator, 5);
    std::thread stopper;
    if (last && argument == "before") ::kill(::getpid(), SIGSTOP);
    if (last)
      stopper = std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        ::kill(::getpid(), SIGSTOP);
      });
    sums_for_ever(communicator, 10000000);
    stopper.join();
    return;
  }
  check(communicator, false, "unknown case " + name);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const LaunchEnvironment launch = read_launch_environment();
    const std::string name = argc > 1 ? argv[1] : "", argument = argc > 2 ? argv[2] : "";
    if (name == "factory") return make_communicator(launch, &argc, &argv)->finish(0);
    // mpirun -n 1 would get the communicator of a lone process; here the MPI one is under test.
    check_launch(launch);
    MpiCommunicator communicator(&argc, &argv);
    log_set_rank(communicator.rank());
    run_case(communicator, name, argument);
    const int code = communicator.finish(name == "end" && communicator.rank() > 0 ? std::stoi(argument) : 0);
    if (communicator.rank() == 0) std::printf("comm_check %s: %d\n", name.c_str(), code);
    return code;
  } catch (const UserError& error) {
    if (read_launch_environment().speaks()) say_error(error.what());
    return kExitUser;
  } catch (const std::exception& error) {
    say_error(error.what());
    return 1;
  }
}
