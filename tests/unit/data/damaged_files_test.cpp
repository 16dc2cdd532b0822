// Every parser on truncated and altered files: a UserError or a result, never a crash, a hang or memory beyond what the file
// can hold. The alterations are drawn from a fixed seed.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "lib/base/error.h"
#include "lib/data/source.h"
#include "tests/unit/data/data_files.h"

// HDF5 1.10 loses a few hundred bytes of its own when some damaged files fail to open; there is nothing for a caller to free.
// Read by LeakSanitizer where it is linked in, unused elsewhere.
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace {

using namespace stoker::data;
using namespace stoker::data::test;

constexpr std::uint64_t kMemory = std::uint64_t{64} << 20;

std::string content_of(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// Opens the data and reads some of it; says whether that worked.
bool try_read(const std::string& spec) {
  try {
    const auto source = open_source(spec, {.memory_bytes = kMemory, .class_names = {}});
    const Description& about = source->description();
    if (about.x_shape.elements() > (1 << 20)) return true;  // a large claim that the file may well keep
    read_some(*source, {0, about.samples - 1, about.samples / 2});
    return true;
  } catch (const stoker::UserError&) {
    return false;
  }
}

struct Outcome {
  int read = 0, refused = 0;
};

// Alters `good` in many ways and tries each.
Outcome try_all(const Folder& folder, const std::string& kind, const std::string& name,
                const std::string& good, int tries) {
  std::mt19937 random(1234);
  Outcome outcome;
  const auto attempt = [&](const std::string& bad) {
    ++(try_read(kind + ":" + folder.write(name, bad)) ? outcome.read : outcome.refused);
  };
  for (int i = 0; i < tries; ++i) {
    attempt(good.substr(0, random() % good.size()));
    std::string flipped = good;
    for (std::size_t flips = 1 + random() % 3; flips > 0; --flips)
      flipped[random() % (i % 2 == 0 ? good.size() : std::min<std::size_t>(good.size(), 160))] ^=
          static_cast<char>(1 << random() % 8);
    attempt(flipped);
    std::string patched = good;  // eight bytes of ones: the largest claims
    patched.replace(random() % good.size(), 8, std::string(8, i % 2 == 0 ? '\xFF' : '\x7F'));
    attempt(patched);
  }
  EXPECT_GT(outcome.refused, 0) << kind;
  return outcome;
}

std::vector<float> some_floats(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i * 7919 % 1000);
  return values;
}

TEST(DamagedFiles, Idx) {
  const Folder folder;
  const std::string good = idx(8, {20, 3, 2}, std::string(120, 'x'));
  try_all(folder, "idx", "x", good, 150);
  try_all(folder, "idx", "x", gzip(good), 150);
}

TEST(DamagedFiles, Npy) {
  const Folder folder;
  for (const bool turned : {false, true}) {
    const std::string good = npy("<f4", turned, "(20, 3, 2)", bytes_of(some_floats(120)));
    try_all(folder, "npy", "x.npy", good, 150);
    try_all(folder, "npy", "x.npy", gzip(good), 100);
  }
}

TEST(DamagedFiles, Npz) {
  const Folder folder;
  const std::string x = npy("<f4", false, "(20, 3, 2)", bytes_of(some_floats(120))),
                    y = npy("|u1", false, "(20,)", std::string(20, '\1'));
  for (const bool deflate : {false, true})
    for (const bool zip64 : {false, true})
      try_all(folder, "npz", "d.npz", zip({{"x.npy", x, deflate}, {"y.npy", y, deflate}}, zip64), 150);
}

TEST(DamagedFiles, Csv) {
  const Folder folder;
  std::string good =
      "\xEF\xBB\xBF"
      "a,\"b, c\",label\r\n";
  for (int i = 0; i < 30; ++i)
    good += std::to_string(i) + ".5,\"" + std::to_string(i * i) + "\"," +
            (i % 2 == 0 ? "yes" : "\"no\nway\"") + "\r\n";
  const Outcome outcome = try_all(folder, "csv", "t.csv", good, 200);
  EXPECT_GT(outcome.read, 0);
  try_all(folder, "csv", "t.csv", gzip(good), 100);
}

TEST(DamagedFiles, Cifar) {
  const Folder folder;
  try_all(folder, "cifar10", "test_batch.bin", std::string(2 * 3073, '\3'), 20);
}

TEST(DamagedFiles, Hdf5) {
  const Folder folder;
  for (const Hdf5Kind kind : {Hdf5Kind{}, Hdf5Kind{8, true}}) {
    write_hdf5(folder.path("good.h5"), 40, kind);
    try_all(folder, "hdf5", "bad.h5", content_of(folder.path("good.h5")), 150);
  }
}

}  // namespace
