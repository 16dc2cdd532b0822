#include <cstring>
#include <stdexcept>

#include "lib/base/error.h"
#include "lib/base/files.h"
#include "lib/hdf5/hdf5_file.h"
#include "tests/unit/checkpoint/checkpoint_fixture.h"

namespace stoker::checkpoint {
namespace {

TEST(RoundTrip, AnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 8, 200}) {  // 200 ranks for 159 elements: some shards hold nothing
    const TestFolder folder;
    TestRun run(folder.path(), ranks);
    ASSERT_EQ(run.save(1000), SaveState::committed) << run.message();
    EXPECT_EQ(run.message(), "");
    expect_holds(folder / "step-00001000", 1000);
    EXPECT_EQ(read_file(folder / "latest"), "step-00001000\n");
    EXPECT_EQ(list(folder.path())[0].ranks, ranks);
  }
}

TEST(RoundTrip, TheStateComesBackExactly) {
  const TestFolder folder;
  TestRun run(folder.path());
  run.save(7);
  const nlohmann::json state = read_manifest(folder / "step-00000007").state;
  EXPECT_EQ(state, state_of(7));
  EXPECT_GT(exact_double(state["best"]), 1e308);
}

TEST(RoundTrip, StagingIsTheShardsSize) {
  const TestFolder folder;
  TestRun run(folder.path(), 3);
  run.save(1);
  for (int rank = 0; rank < 3; ++rank)
    EXPECT_EQ(Writer::staging_bytes(test_tensors(), rank, 3),
              std::filesystem::file_size(folder / ("step-00000001/" + shard_name(rank, 3))));
}

TEST(RoundTrip, OtherTensorsInTheNextSave) {
  const TestFolder folder;
  Writer writer({folder.path()});
  TestModel model(1);
  for (const std::int64_t step : {1, 2}) {
    std::vector<TensorSource> sources = model.sources();
    if (step == 2) sources.pop_back();
    writer.begin(step, sources, state_of(step));
    ASSERT_EQ(writer.wait(), SaveState::durable) << writer.message();
    writer.commit();
    ASSERT_EQ(writer.wait(), SaveState::committed) << writer.message();
  }
  EXPECT_EQ(read_manifest(folder / "step-00000001").index.tensors.size(), 5u);
  EXPECT_EQ(read_manifest(folder / "step-00000002").index.tensors.size(), 4u);
  expect_holds(folder / "step-00000001", 1);
  EXPECT_EQ(verify(folder / "step-00000002"), std::vector<std::string>());
}

TEST(RoundTrip, BeginCopiesSoTheCallerMayGoOn) {
  const TestFolder folder;
  Writer writer({folder.path()});
  TestModel model(5);
  writer.begin(5, model.sources(), state_of(5));
  for (auto& bytes : model.data) std::fill(bytes.begin(), bytes.end(), std::byte{0});
  ASSERT_EQ(writer.wait(), SaveState::durable) << writer.message();
  writer.commit();
  ASSERT_EQ(writer.wait(), SaveState::committed) << writer.message();
  expect_holds(folder / "step-00000005", 5);
  EXPECT_GT(writer.last_save_seconds(), 0);
}

TEST(RoundTrip, OneSaveAtATime) {
  const TestFolder folder;
  TestRun run(folder.path(), 1);
  run.begin(1);
  EXPECT_TRUE(run[0].busy());
  EXPECT_THROW(run.begin(2), std::logic_error);
  run[0].wait();
  EXPECT_THROW(run.begin(2), std::logic_error);  // durable, not committed
  run[0].abandon();
  EXPECT_FALSE(run[0].busy());
  EXPECT_TRUE(list(folder.path()).empty());
  EXPECT_EQ(run.save(2), SaveState::committed);
}

TEST(RoundTrip, AWriterThatGoesAwayBeforeCommitLeavesNothing) {
  const TestFolder folder;
  {
    TestRun run(folder.path(), 2);
    run.begin(1);
  }
  EXPECT_TRUE(list(folder.path()).empty());
}

TEST(RoundTrip, FilesAreOrdinaryHdf5) {
  const TestFolder folder;
  TestRun run(folder.path(), 2);
  run.save(3);
  const Index index = read_manifest(folder / "step-00000003").index;
  const TestModel model(3);
  for (const Shard& shard : index.shards) {
    const hdf5::File file = hdf5::File::open(folder / ("step-00000003/" + shard.file));
    for (std::size_t i = 0; i < shard.slices.size(); ++i) {
      const Slice& slice = shard.slices[i];
      const hdf5::Dataset dataset = file.dataset("slices/" + std::to_string(i));
      const DType type = index.tensors[slice.tensor].dtype;
      std::vector<std::byte> elements(static_cast<std::size_t>(slice.elements()) * size_of(type));
      ASSERT_EQ(dataset.info().shape, Shape{slice.elements()});
      dataset.read(type == DType::f32   ? H5T_NATIVE_FLOAT
                   : type == DType::f64 ? H5T_NATIVE_DOUBLE
                                        : H5T_NATIVE_INT64,
                   elements.data());
      const std::byte* expected =
          model.data[slice.tensor].data() + static_cast<std::size_t>(slice.begin) * size_of(type);
      EXPECT_EQ(std::memcmp(elements.data(), expected, elements.size()), 0);
    }
  }
}

TEST(Load, NamesWhatDoesNotFit) {
  const TestFolder folder;
  TestRun run(folder.path());
  run.save(1);
  const std::string path = folder / "step-00000001";
  const auto message = [&](const auto& change) {
    TestModel model;
    std::vector<TensorTarget> targets = model.targets();
    change(targets);
    try {
      load(path, targets);
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_NE(message([](auto& t) {
              t[0].info.name = "parameters/dense/kernel";
            }).find("the checkpoint has no tensor parameters/dense/kernel"),
            std::string::npos);
  EXPECT_NE(message([](auto& t) { t.pop_back(); }).find("not expected: optimizer/momentum/conv2d/kernel"),
            std::string::npos);
  EXPECT_NE(
      message([](auto& t) {
        t[0].info.shape = Shape{3, 3, 8, 1};
      }).find("tensor parameters/conv2d/kernel is float32 (3, 3, 1, 8) there and float32 (3, 3, 8, 1) here"),
      std::string::npos);
  EXPECT_NE(message([](auto& t) { t[3].info.dtype = DType::f64; }).find("int64 () there and float64 () here"),
            std::string::npos);
}

TEST(Load, APartWhereThatIsAskedFor) {
  const TestFolder folder;
  TestRun run(folder.path(), 3);
  run.save(4);
  TestModel model;
  const std::vector<TensorTarget> two = {model.targets()[0], model.targets()[1]};
  load(folder / "step-00000004", two, Names::these);
  EXPECT_EQ(model.data[0], TestModel(4).data[0]);
  EXPECT_EQ(model.data[1], TestModel(4).data[1]);
}

TEST(Save, TheSameStepAgainReplacesIt) {
  const TestFolder folder;
  {
    TestRun two(folder.path(), 2);
    ASSERT_EQ(two.save(9), SaveState::committed);
    ASSERT_EQ(two.save(9), SaveState::committed) << two.message();
    expect_holds(folder / "step-00000009", 9);
    two.begin(9);
    two.wait_for_shards();  // and goes away before the commit: the one that was there stays good
  }
  expect_holds(folder / "step-00000009", 9);
  TestRun three(folder.path(), 3, 3, 2);
  ASSERT_EQ(three.save(9), SaveState::committed) << three.message();
  expect_holds(folder / "step-00000009", 9);
  EXPECT_EQ(list(folder.path())[0].ranks, 3);
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "step-00000009"))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 4u);  // the shards of the other saves are gone
}

TEST(Save, LeftoversOfACrashAreInNobodysWay) {
  const TestFolder folder;
  std::filesystem::create_directories(folder / "step-00000002");
  write_file_atomically(folder / "step-00000002/shard-00000-of-00002.h5", "junk");
  write_file_atomically(folder / "step-00000002/shard-00001-of-00002.h5.tmp", "junk");
  write_file_atomically(folder / "step-00000002/shard-00003-of-00004.h5", "junk");
  TestRun run(folder.path(), 2);
  ASSERT_EQ(run.save(2), SaveState::committed) << run.message();
  expect_holds(folder / "step-00000002", 2);
  EXPECT_FALSE(path_exists(folder / "step-00000002/shard-00003-of-00004.h5"));
}

TEST(Save, ShardsOnAnotherNodesDiskAreAClearError) {
  const TestFolder here, there;
  const TestModel model(1);
  Writer rank0({here.path(), 0, 2, 3, 1, std::nullopt, 0.1}),
      rank1({there.path(), 1, 2, 3, 1, std::nullopt, 0.1});
  for (Writer* writer : {&rank0, &rank1}) {
    writer->begin(1, model.sources(), state_of(1));
    ASSERT_EQ(writer->wait(), SaveState::durable);
  }
  rank0.commit();
  ASSERT_EQ(rank0.wait(), SaveState::failed);
  EXPECT_NE(rank0.message().find("1 of 2 shards are not to be seen from rank 0 (rank 1)"), std::string::npos)
      << rank0.message();
  EXPECT_NE(rank0.message().find("all nodes share"), std::string::npos);
  EXPECT_THROW(std::rethrow_exception(rank0.error()), UserError);
  EXPECT_TRUE(list(here.path()).empty());
}

TEST(Save, AShardOfAnotherAttemptIsNotTaken) {
  const TestFolder here, there;
  {
    TestRun earlier(here.path(), 2, 3, /*attempt=*/1);  // both ranks were on this node
    earlier.begin(1);
    earlier.wait_for_shards();
    std::filesystem::copy(here / "step-00000001", here / "kept");
  }
  std::filesystem::rename(here / "kept", here / "step-00000001");
  const TestModel model(1);
  Writer rank0({here.path(), 0, 2, 3, /*attempt=*/2, std::nullopt, 0.1});
  rank0.begin(1, model.sources(), state_of(1));
  ASSERT_EQ(rank0.wait(), SaveState::durable);
  rank0.commit();
  EXPECT_EQ(rank0.wait(), SaveState::failed);
  EXPECT_TRUE(complete_steps(here.path()).empty());
}

TEST(Save, ADirectoryThatCannotBeMadeIsTheUsersToMend) {
  const TestFolder folder;
  write_file_atomically(folder / "file", "");
  EXPECT_THROW(Writer({folder / "file/checkpoints"}), UserError);
}

}  // namespace
}  // namespace stoker::checkpoint
