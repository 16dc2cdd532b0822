// `stoker predict`: the model's output for every sample, in order.
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "trainer/agree.h"
#include "trainer/command.h"
#include "trainer/inference.h"
#include "trainer/output_file.h"
#include "trainer/prediction_writer.h"

namespace stoker::trainer {
namespace {

constexpr OptionSpec kSpecs[] = {
    {"model", "FILE", nullptr, "the model: .h5 or .keras, or a run's directory"},
    {"data", "DATA", nullptr, "the data: a path, or kind:path[,path][?key=value&...]"},
    {"output,o", "FILE", nullptr, "what to write: .h5 (dataset predictions), .npy or .csv"},
    {"weights", "FILE", nullptr, "take the weights from here"},
    {"batch-size", "B", "64", "samples at a time"},
    {"threads", "T", nullptr, "compute threads"},
    {"device", "auto|cpu|cuda", "auto", "where to compute"},
    {"help", nullptr, nullptr, "this text"},
};

std::span<const OptionSpec> specs() { return kSpecs; }

void predict(const InferenceSetup& setup, std::int64_t batch_size, PredictionWriter& writer) {
  const std::int64_t samples = setup.data->description().samples;
  const Programs programs(*setup.backend, setup.layout, setup.graph_maker(false), samples, batch_size, 1);
  const auto arena = setup.backend->allocate(static_cast<std::size_t>(programs.arena_bytes()));
  const std::int64_t row = setup.model->output_shape().elements();
  const auto output = setup.backend->allocate(static_cast<std::size_t>(batch_size * row) * sizeof(float));
  std::vector<float> host(static_cast<std::size_t>(batch_size * row));
  data::LoaderOptions loading;
  loading.batch = batch_size;
  loading.targets = data::TargetForm::none;
  loading.end_epoch = 1;
  data::Loader loader(setup.data, loading);
  for (std::int64_t step = 0; step < loader.steps_per_epoch(); ++step) {
    const data::LeafBatch& batch = loader.next().leaves[0];
    backend::StepArguments arguments;
    arguments.input = batch.x;
    arguments.output = reinterpret_cast<float*>(output->data());
    arguments.parameters = setup.store->parameters();
    arguments.arena = arena->data();
    programs.of(batch.samples).run_forward(arguments);
    setup.backend->copy_to_host(host.data(), output->data(),
                                static_cast<std::size_t>(batch.samples * row) * sizeof(float));
    writer.append(host.data(), batch.samples);
  }
  writer.finish();
}

int run_predict(const Options& options) {
  options.no_positional();
  const std::string file = options.required("output");
  check_output_file(file, {".h5", ".hdf5", ".npy", ".csv"});
  refuse_to_overwrite(file, {options.required("model"), options.required("data"), options.text("weights")});
  return run_on_ranks(kStartTimeout, [&](comm::Communicator& communicator) {
    agree(communicator, [&] {
      if (communicator.rank() != 0) return;  // one rank writes one file; the others only wait
      const InferenceSetup setup = prepare_inference(communicator, options, false);
      const std::int64_t samples = setup.data->description().samples;
      const auto writer = make_prediction_writer(file, samples, setup.model->output_shape());
      predict(setup, std::min(samples, options.integer("batch-size", 1, 1 << 24)), *writer);
      info("{} predictions of shape {} are in {}", samples, to_string(setup.model->output_shape()), file);
    });
    return kExitDone;
  });
}

}  // namespace

const Command kPredict = {"predict", "--model FILE --data DATA --output FILE.h5|.npy|.csv",
                          "the model's output for every sample", specs, run_predict};

}  // namespace stoker::trainer
