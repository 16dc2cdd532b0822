#include "lib/data/loader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <map>
#include <numeric>
#include <thread>

#include "lib/base/error.h"
#include "lib/base/split.h"
#include "lib/tensor/memory.h"
#include "tests/unit/data/allocation_count.h"
#include "tests/unit/data/data_files.h"

namespace {

using namespace stoker::data;
using stoker::Shape;
using stoker::UserError;

// Samples that say who they are: x = (index, index + 0.5, −index), label = index, values = (index, 1).
class CountingSource : public Source {
 public:
  explicit CountingSource(std::int64_t samples, TargetKind kind = TargetKind::labels) {
    description_.samples = samples;
    description_.x_shape = Shape{3};
    description_.y_kind = kind;
    if (kind == TargetKind::values) description_.y_shape = Shape{2};
  }
  const Description& description() const override { return description_; }
  void read(std::span<const std::int64_t> indices, float* x, TargetBuffer y, Scratch&) const override {
    ++reads;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == bad_sample) throw UserError("bad sample", "here", "mend it");
      const float value = static_cast<float>(indices[i]);
      const float sample[] = {value, value + 0.5f, -value};
      std::copy_n(sample, 3, x + 3 * i);
      if (y.labels != nullptr) y.labels[i] = static_cast<std::int32_t>(indices[i]);
      if (y.values != nullptr) y.values[2 * i] = value, y.values[2 * i + 1] = 1;
    }
  }
  std::string y_where(std::int64_t) const override { return "memory"; }

  std::int64_t bad_sample = -1;
  mutable std::atomic<std::int64_t> reads{0};

 private:
  Description description_;
};

LoaderOptions options_of(std::int64_t batch, std::int64_t virtual_ranks = 1) {
  LoaderOptions options;
  options.batch = batch;
  options.virtual_ranks = virtual_ranks;
  options.end_leaf = virtual_ranks;
  options.shuffle = true;
  options.seed = 9;
  return options;
}

// Labels of the next `steps` batches, one list a leaf and step; checks what must hold of every batch.
std::vector<std::vector<std::int32_t>> labels_of(Loader& loader, int steps) {
  std::vector<std::vector<std::int32_t>> all;
  for (int step = 0; step < steps; ++step)
    for (const LeafBatch& leaf : loader.next().leaves) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(leaf.x) % stoker::kAlignment, 0u);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(leaf.labels) % stoker::kAlignment, 0u);
      all.emplace_back(leaf.labels, leaf.labels + leaf.samples);
      for (std::int64_t i = 0; i < leaf.samples; ++i) {
        EXPECT_EQ(leaf.x[3 * i], static_cast<float>(leaf.labels[i]));
        EXPECT_EQ(leaf.x[3 * i + 2], -static_cast<float>(leaf.labels[i]));
      }
    }
  return all;
}

TEST(Loader, EveryEpochHasEverySampleOnceAndTheLastBatchIsSmaller) {
  Loader loader(std::make_shared<CountingSource>(103), options_of(10));
  EXPECT_EQ(loader.steps_per_epoch(), 11);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int> seen(103);
    for (std::int64_t step = 0; step < 11; ++step) {
      const StepBatch& batch = loader.next();
      EXPECT_EQ(batch.epoch, epoch);
      EXPECT_EQ(batch.step, step);
      EXPECT_EQ(batch.position, 10 * step);
      EXPECT_EQ(batch.samples, step == 10 ? 3 : 10);
      EXPECT_EQ(batch.last_of_epoch, step == 10);
      for (std::int64_t i = 0; i < batch.leaves[0].samples; ++i)
        ++seen[static_cast<std::size_t>(batch.leaves[0].labels[i])];
    }
    EXPECT_EQ(seen, std::vector<int>(103, 1));
  }
}

TEST(Loader, LeavesAreTheSameOnAnyNumberOfRanks) {
  constexpr std::int64_t kLeaves = 12;
  const auto source = std::make_shared<CountingSource>(101);
  const LoaderOptions options = options_of(14, kLeaves);  // 101 = 7 · 14 + 3: the last batch has empty leaves
  Loader whole(source, options);
  const auto expected = labels_of(whole, 16);
  for (const std::int64_t ranks : {2, 4, 5}) {
    std::vector<std::vector<std::int32_t>> leaves(expected.size());
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const stoker::Span held = stoker::split(kLeaves, ranks, rank);
      LoaderOptions part = options;
      part.first_leaf = held.begin;
      part.end_leaf = held.end;
      Loader loader(source, part);
      const auto some = labels_of(loader, 16);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const std::size_t step = i / static_cast<std::size_t>(held.size()),
                          leaf = i % static_cast<std::size_t>(held.size());
        leaves[step * kLeaves + static_cast<std::size_t>(held.begin) + leaf] = some[i];
      }
    }
    EXPECT_EQ(leaves, expected) << ranks;
  }
}

// Of 5 leaves, the third has a sample of a batch of 2 but none of a batch of 3.
TEST(Loader, ALeafMayBeLargerInASmallerBatch) {
  LoaderOptions options = options_of(3, 5);
  options.first_leaf = 2;
  options.end_leaf = 3;
  Loader loader(std::make_shared<CountingSource>(5), options);
  EXPECT_EQ(loader.next().leaves[0].samples, 0);
  EXPECT_EQ(loader.next().leaves[0].samples, 1);
}

TEST(Loader, ThreadsAndMemoryChangeNothing) {
  const auto source = std::make_shared<CountingSource>(1000);
  LoaderOptions options = options_of(7, 3);
  Loader reference(source, options);
  const auto expected = labels_of(reference, 400);
  for (const int threads : {1, 2, 5}) {
    options.threads = threads;
    options.memory_bytes = threads == 2 ? 2000 : 1 << 20;
    Loader loader(source, options);
    EXPECT_EQ(labels_of(loader, 400), expected) << threads;
  }
}

TEST(Loader, StartsAnywhere) {
  const auto source = std::make_shared<CountingSource>(103);
  LoaderOptions options = options_of(10);
  Loader whole(source, options);
  const auto all = labels_of(whole, 33);
  for (const std::int64_t done : {1, 10, 11, 12, 21, 22}) {
    options.start = {done / 11, done % 11 * 10};
    Loader loader(source, options);
    EXPECT_EQ(labels_of(loader, 11), std::vector(all.begin() + done, all.begin() + done + 11)) << done;
  }
  options.start = {0, 103};  // the state after the last batch of epoch 0
  Loader loader(source, options);
  EXPECT_EQ(labels_of(loader, 1)[0], all[11]);
}

TEST(Loader, InOrderForEvaluation) {
  LoaderOptions options = options_of(4);
  options.shuffle = false;
  options.targets = TargetForm::values;
  options.end_epoch = 1;
  Loader loader(std::make_shared<CountingSource>(6, TargetKind::values), options);
  EXPECT_EQ(loader.next().leaves[0].values[6], 3);
  const StepBatch& last = loader.next();
  EXPECT_TRUE(last.last_of_epoch);
  EXPECT_EQ(last.leaves[0].samples, 2);
  EXPECT_EQ(last.leaves[0].labels, nullptr);
  EXPECT_EQ(last.leaves[0].values[0], 4);
  EXPECT_EQ(last.leaves[0].values[1], 1);
  EXPECT_THROW(loader.next(), std::logic_error);
}

TEST(Loader, AugmentsBySample) {
  // A source of images: (2, 2) pixels 4 i … 4 i + 3.
  class Images : public CountingSource {
   public:
    Images() : CountingSource(50) { about_ = CountingSource::description(), about_.x_shape = Shape{2, 2}; }
    const Description& description() const override { return about_; }
    void read(std::span<const std::int64_t> indices, float* x, TargetBuffer y, Scratch&) const override {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        std::iota(x + 4 * i, x + 4 * i + 4, static_cast<float>(4 * indices[i]));
        y.labels[i] = static_cast<std::int32_t>(indices[i]);
      }
    }

   private:
    Description about_;
  };
  const auto images_of = [](std::int64_t batch, std::int64_t leaves, int threads) {
    LoaderOptions options = options_of(batch, leaves);
    options.augmentation = parse_augmentation("flip,vflip,crop=1");
    options.threads = threads;
    options.end_epoch = 1;
    Loader loader(std::make_shared<Images>(), options);
    std::map<std::int32_t, std::vector<float>> images;
    for (std::int64_t step = 0; step < loader.steps_per_epoch(); ++step)
      for (const LeafBatch& leaf : loader.next().leaves)
        for (std::int64_t i = 0; i < leaf.samples; ++i)
          images[leaf.labels[i]].assign(leaf.x + 4 * i, leaf.x + 4 * i + 4);
    return images;
  };
  const auto expected = images_of(8, 1, 1);
  EXPECT_EQ(expected.size(), 50u);
  EXPECT_NE(expected.at(7), (std::vector<float>{28, 29, 30, 31}));
  EXPECT_EQ(images_of(5, 3, 2), expected);
}

// Several threads in one file: through the HDF5 library, and in place.
TEST(Loader, ThreadsShareASource) {
  const test::Folder folder;
  for (const test::Hdf5Kind kind : {test::Hdf5Kind{16, true}, test::Hdf5Kind{}}) {
    test::write_hdf5(folder.path("d.h5"), 500, kind);
    const std::shared_ptr<const Source> source =
        open_source(folder.path("d.h5"), {.memory_bytes = 4000, .class_names = {}});  // x takes 12,000 bytes
    LoaderOptions options = options_of(9, 3);
    options.threads = 4;
    options.end_epoch = 2;
    Loader loader(source, options);
    std::vector<int> seen(500);
    const Sampler sampler(500, options.seed, true);
    for (std::int64_t step = 0; step < 2 * loader.steps_per_epoch(); ++step) {
      const StepBatch& batch = loader.next();
      std::vector<std::int64_t> indices(static_cast<std::size_t>(batch.samples));
      sampler.indices(batch.epoch, batch.position, indices);
      std::size_t k = 0;
      for (const LeafBatch& leaf : batch.leaves)
        for (std::int64_t i = 0; i < leaf.samples; ++i, ++k) {
          ASSERT_EQ(leaf.labels[i], indices[k] % 7);
          ASSERT_EQ(leaf.x[6 * i + 5], static_cast<float>(10 * indices[k] + 5));
          ++seen[static_cast<std::size_t>(indices[k])];
        }
    }
    EXPECT_EQ(seen, std::vector<int>(500, 2));
  }
}

TEST(Loader, StepsAllocateNothing) {
  const test::Folder folder;
  const std::string x =
      folder.write("x.npy", test::npy("|u1", false, "(300, 4, 4, 3)", std::string(300 * 48, 'x')));
  const std::string y = folder.write("y.npy", test::npy("|u1", false, "(300,)", std::string(300, '\1')));
  for (const std::uint64_t memory : {std::uint64_t{1} << 20, std::uint64_t{1}}) {  // held, and read in place
    LoaderOptions options = options_of(8, 3);
    options.augmentation = parse_augmentation("flip,crop=1");
    Loader loader(
        open_source("npy:" + x + "," + y + "?scale=1/255", {.memory_bytes = memory, .class_names = {}}),
        options);
    for (int step = 0; step < 200; ++step) loader.next();
    const std::int64_t before = test::allocations();
    for (int step = 0; step < 200; ++step) loader.next();
    EXPECT_EQ(test::allocations() - before, 0);
  }
}

TEST(Loader, AnErrorReachesTheCallerAtItsStep) {
  const auto source = std::make_shared<CountingSource>(40);
  source->bad_sample = 25;
  LoaderOptions options = options_of(10);
  options.shuffle = false;
  for (const int threads : {1, 3}) {
    options.threads = threads;
    Loader loader(source, options);
    EXPECT_NO_THROW(loader.next());
    EXPECT_NO_THROW(loader.next());
    EXPECT_THROW(loader.next(), UserError);
    EXPECT_THROW(loader.next(), UserError);
  }
}

TEST(Loader, WhatItRefuses) {
  const auto labels = std::make_shared<CountingSource>(40),
             none = std::make_shared<CountingSource>(40, TargetKind::none),
             values = std::make_shared<CountingSource>(40, TargetKind::values);
  LoaderOptions options = options_of(10);
  EXPECT_THROW(Loader(none, options), UserError);
  EXPECT_THROW(Loader(values, options), UserError);
  options.memory_bytes = 100;
  EXPECT_THROW(Loader(labels, options), UserError);
  options = options_of(10);
  options.augmentation.flip = true;
  EXPECT_THROW(Loader(labels, options), UserError);
}

// Processor seconds of this process.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

TEST(Loader, ThreadsSleepWhileTheQueueIsFull) {
  const auto source = std::make_shared<CountingSource>(1000);
  LoaderOptions options = options_of(10);
  options.threads = 4;
  Loader loader(source, options);
  loader.next();
  std::int64_t before = -1;
  for (int tries = 0; tries < 500 && before != source->reads; ++tries) {  // until the queue has filled
    before = source->reads;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double processor = processor_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(source->reads, before);
  EXPECT_LT(processor_seconds() - processor, 0.1);
  EXPECT_EQ(before, loader.queue_depth());
}

}  // namespace
