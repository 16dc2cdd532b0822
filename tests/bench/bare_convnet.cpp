// What is attainable: whole training steps of the Keras convnet (conv 3×3×32, pool, conv 3×3×64, pool, dense 128,
// dense 10; 28×28×1 fp32 images; SGD with momentum) out of bare oneDNN primitives, with no input, metrics or logging.
//
//   bare_convnet BATCH THREADS STEPS      prints a line of JSON: seconds of every step
//
// Activations are NHWC, weights stay in the format that the forward primitive prefers; a step reorders only what
// the backward primitives want in another format. oneDNN 2.x.
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <unordered_map>
#include <vector>

#if DNNL_VERSION_MAJOR != 2
#error "this benchmark is written for the descriptors of oneDNN 2.x"
#endif

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
using Dims = memory::dims;
constexpr float kLearningRate = 0.01f, kMomentum = 0.9f;

// A weight with its gradient and momentum, all in one format.
struct Parameter {
  memory value, gradient, velocity;
};

class Network {
 public:
  Network(int batch, std::mt19937& random) : batch_(batch), random_(random) {
    image_ = filled({batch, 1, 28, 28}, Tag::nhwc, 1.0f);
    grad_logits_ = allocate({{batch, 10}, memory::data_type::f32, Tag::nc});
    memory x = convolution(image_, 32, false);
    x = pool(x);
    x = convolution(x, 64, true);
    x = pool(x);
    const Dims shape = x.get_desc().dims();
    memory flat = view(x, {batch, shape[1] * shape[2] * shape[3]});
    flatten_from_ = x, flatten_to_ = flat;
    x = dense(flat, 128, true);
    logits_ = dense(x, 10, false);
    build_backward();
  }

  // One step; returns the mean loss before the update.
  float step(const std::vector<int>& labels) {
    for (Call& call : forward_) call.primitive.execute(stream_, call.arguments);
    stream_.wait();
    const float loss = softmax_cross_entropy(labels);
    for (Call& call : backward_) call.primitive.execute(stream_, call.arguments);
    stream_.wait();
    for (Parameter& parameter : parameters_) update(parameter);
    return loss;
  }

 private:
  struct Call {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };
  // What the backward pass of a layer needs from its forward pass.
  struct Layer {
    enum class Kind { convolution, pool, dense } kind;
    memory source, destination, workspace;
    std::size_t weights = 0, bias = 0;  // indices into parameters_
    bool relu = false, needs_source_gradient = true;
    dnnl::convolution_forward::primitive_desc conv;
    dnnl::pooling_forward::primitive_desc pooling;
    dnnl::inner_product_forward::primitive_desc product;
  };

  memory allocate(const memory::desc& desc) {
    memory result(desc, engine_);
    std::fill_n(static_cast<char*>(result.get_data_handle()), desc.get_size(), 0);
    return result;
  }

  memory filled(const Dims& dims, Tag tag, float scale) {
    memory result = allocate({dims, memory::data_type::f32, tag});
    std::uniform_real_distribution<float> uniform(-scale, scale);
    float* values = static_cast<float*>(result.get_data_handle());
    std::generate_n(values, result.get_desc().get_size() / sizeof(float), [&] { return uniform(random_); });
    return result;
  }

  // The same bytes as NC (an NHWC tensor flattened).
  memory view(const memory& whole, const Dims& dims) {
    return memory({dims, memory::data_type::f32, Tag::nc}, engine_, whole.get_data_handle());
  }

  void call(std::vector<Call>& calls, const dnnl::primitive& primitive,
            std::unordered_map<int, memory> arguments) {
    calls.push_back({primitive, std::move(arguments)});
  }

  // `from` in the format of `desc`: itself, or a copy that `calls` makes every step.
  memory in_format(std::vector<Call>& calls, const memory& from, const memory::desc& desc) {
    if (from.get_desc() == desc) return from;
    memory copy = allocate(desc);
    call(calls, dnnl::reorder(from, copy), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, copy}});
    return copy;
  }

  // A parameter of that format, initialised in a plain one (uniform, Glorot).
  std::size_t parameter(const memory::desc& desc, Tag plain, double fan) {
    Parameter result{allocate(desc), allocate(desc), allocate(desc)};
    memory initial = filled(desc.dims(), plain, fan > 0 ? static_cast<float>(std::sqrt(6.0 / fan)) : 0.0f);
    dnnl::reorder(initial, result.value).execute(stream_, initial, result.value);
    stream_.wait();
    parameters_.push_back(result);
    return parameters_.size() - 1;
  }

  static dnnl::primitive_attr with_relu(bool relu) {
    dnnl::primitive_attr attributes;
    dnnl::post_ops operations;
    if (relu) operations.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(operations);
    return attributes;
  }

  memory convolution(const memory& source, int filters, bool needs_source_gradient) {
    const Dims in = source.get_desc().dims();
    const Dims kernel{filters, in[1], 3, 3}, out{batch_, filters, in[2] - 2, in[3] - 2};
    const memory::desc weights(kernel, memory::data_type::f32, Tag::any),
        bias({filters}, memory::data_type::f32, Tag::x), destination(out, memory::data_type::f32, Tag::nhwc);
    Layer layer{Layer::Kind::convolution,
                source,
                allocate(destination),
                {},
                0,
                0,
                true,
                needs_source_gradient,
                {},
                {},
                {}};
    layer.conv = {{dnnl::prop_kind::forward_training,
                   dnnl::algorithm::convolution_direct,
                   source.get_desc(),
                   weights,
                   bias,
                   destination,
                   {1, 1},
                   {0, 0},
                   {0, 0}},
                  with_relu(true),
                  engine_};
    layer.weights =
        parameter(layer.conv.weights_desc(), Tag::oihw, 9.0 * static_cast<double>(in[1] + filters));
    layer.bias = parameter(bias, Tag::x, 0);
    call(forward_, dnnl::convolution_forward(layer.conv),
         {{DNNL_ARG_SRC, source},
          {DNNL_ARG_WEIGHTS, parameters_[layer.weights].value},
          {DNNL_ARG_BIAS, parameters_[layer.bias].value},
          {DNNL_ARG_DST, layer.destination}});
    layers_.push_back(layer);
    return layer.destination;
  }

  memory pool(const memory& source) {
    const Dims in = source.get_desc().dims();
    const memory::desc destination({batch_, in[1], in[2] / 2, in[3] / 2}, memory::data_type::f32, Tag::nhwc);
    Layer layer{Layer::Kind::pool, source, allocate(destination), {}, 0, 0, false, true, {}, {}, {}};
    layer.pooling = {{dnnl::prop_kind::forward_training,
                      dnnl::algorithm::pooling_max,
                      source.get_desc(),
                      destination,
                      {2, 2},
                      {2, 2},
                      {0, 0},
                      {0, 0}},
                     engine_};
    layer.workspace = allocate(layer.pooling.workspace_desc());
    call(forward_, dnnl::pooling_forward(layer.pooling),
         {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, layer.destination}, {DNNL_ARG_WORKSPACE, layer.workspace}});
    layers_.push_back(layer);
    return layer.destination;
  }

  memory dense(const memory& source, int units, bool relu) {
    const Dims in = source.get_desc().dims();
    const memory::desc weights({units, in[1]}, memory::data_type::f32, Tag::any),
        bias({units}, memory::data_type::f32, Tag::x),
        destination({batch_, units}, memory::data_type::f32, Tag::nc);
    Layer layer{Layer::Kind::dense, source, allocate(destination), {}, 0, 0, relu, true, {}, {}, {}};
    layer.product = {{dnnl::prop_kind::forward_training, source.get_desc(), weights, bias, destination},
                     with_relu(relu),
                     engine_};
    layer.weights = parameter(layer.product.weights_desc(), Tag::oi, static_cast<double>(in[1] + units));
    layer.bias = parameter(bias, Tag::x, 0);
    call(forward_, dnnl::inner_product_forward(layer.product),
         {{DNNL_ARG_SRC, source},
          {DNNL_ARG_WEIGHTS, parameters_[layer.weights].value},
          {DNNL_ARG_BIAS, parameters_[layer.bias].value},
          {DNNL_ARG_DST, layer.destination}});
    layers_.push_back(layer);
    return layer.destination;
  }

  void build_backward() {
    memory gradient = grad_logits_;
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      if (layer->relu) relu_backward(layer->destination, gradient);
      switch (layer->kind) {
        case Layer::Kind::dense:
          gradient = dense_backward(*layer, gradient);
          break;
        case Layer::Kind::pool:
          gradient = pool_backward(*layer, gradient);
          break;
        case Layer::Kind::convolution:
          gradient = convolution_backward(*layer, gradient);
          break;
      }
    }
  }

  // In place: zero where the activation is.
  void relu_backward(const memory& activation, memory& gradient) {
    const auto algorithm = dnnl::algorithm::eltwise_relu_use_dst_for_bwd;
    const memory::desc desc = activation.get_desc();
    const dnnl::eltwise_forward::primitive_desc hint(
        {dnnl::prop_kind::forward_training, algorithm, desc, 0.0f}, engine_);
    const dnnl::eltwise_backward::primitive_desc backward({algorithm, desc, desc, 0.0f}, engine_, hint);
    call(backward_, dnnl::eltwise_backward(backward),
         {{DNNL_ARG_DST, activation}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_SRC, gradient}});
  }

  // The gradient that the weights' primitive writes, brought to the parameter's format.
  memory gradient_target(const Parameter& parameter, const memory::desc& written) {
    return parameter.gradient.get_desc() == written ? parameter.gradient : allocate(written);
  }
  void deliver(const memory& written, const Parameter& parameter) {
    if (written.get_data_handle() == parameter.gradient.get_data_handle()) return;
    call(backward_, dnnl::reorder(written, parameter.gradient),
         {{DNNL_ARG_FROM, written}, {DNNL_ARG_TO, parameter.gradient}});
  }

  memory dense_backward(const Layer& layer, const memory& gradient) {
    const Parameter& weights = parameters_[layer.weights];
    const memory::desc any(weights.value.get_desc().dims(), memory::data_type::f32, Tag::any);
    const dnnl::inner_product_backward_weights::primitive_desc for_weights(
        {layer.source.get_desc(), any, layer.product.bias_desc(), gradient.get_desc()}, engine_,
        layer.product);
    memory written = gradient_target(weights, for_weights.diff_weights_desc());
    call(backward_, dnnl::inner_product_backward_weights(for_weights),
         {{DNNL_ARG_SRC, layer.source},
          {DNNL_ARG_DIFF_DST, gradient},
          {DNNL_ARG_DIFF_WEIGHTS, written},
          {DNNL_ARG_DIFF_BIAS, parameters_[layer.bias].gradient}});
    deliver(written, weights);
    const dnnl::inner_product_backward_data::primitive_desc for_data(
        {layer.source.get_desc(), any, gradient.get_desc()}, engine_, layer.product);
    memory result = allocate(layer.source.get_desc());
    memory kernel = in_format(backward_, weights.value, for_data.weights_desc());
    call(backward_, dnnl::inner_product_backward_data(for_data),
         {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WEIGHTS, kernel}, {DNNL_ARG_DIFF_SRC, result}});
    if (layer.source.get_data_handle() != flatten_to_.get_data_handle()) return result;
    return memory(flatten_from_.get_desc(), engine_, keep(result).get_data_handle());
  }

  memory pool_backward(const Layer& layer, const memory& gradient) {
    const dnnl::pooling_backward::primitive_desc backward({dnnl::algorithm::pooling_max,
                                                           layer.source.get_desc(),
                                                           gradient.get_desc(),
                                                           {2, 2},
                                                           {2, 2},
                                                           {0, 0},
                                                           {0, 0}},
                                                          engine_, layer.pooling);
    memory result = allocate(layer.source.get_desc());
    call(backward_, dnnl::pooling_backward(backward),
         {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WORKSPACE, layer.workspace}, {DNNL_ARG_DIFF_SRC, result}});
    return result;
  }

  memory convolution_backward(const Layer& layer, const memory& gradient) {
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const Parameter& weights = parameters_[layer.weights];
    const memory::desc any(weights.value.get_desc().dims(), memory::data_type::f32, Tag::any);
    const dnnl::convolution_backward_weights::primitive_desc for_weights({algorithm,
                                                                          layer.source.get_desc(),
                                                                          any,
                                                                          layer.conv.bias_desc(),
                                                                          gradient.get_desc(),
                                                                          {1, 1},
                                                                          {0, 0},
                                                                          {0, 0}},
                                                                         engine_, layer.conv);
    memory written = gradient_target(weights, for_weights.diff_weights_desc());
    call(backward_, dnnl::convolution_backward_weights(for_weights),
         {{DNNL_ARG_SRC, layer.source},
          {DNNL_ARG_DIFF_DST, gradient},
          {DNNL_ARG_DIFF_WEIGHTS, written},
          {DNNL_ARG_DIFF_BIAS, parameters_[layer.bias].gradient}});
    deliver(written, weights);
    if (!layer.needs_source_gradient) return {};
    const dnnl::convolution_backward_data::primitive_desc for_data(
        {algorithm, layer.source.get_desc(), any, gradient.get_desc(), {1, 1}, {0, 0}, {0, 0}}, engine_,
        layer.conv);
    memory result = allocate(layer.source.get_desc());
    memory kernel = in_format(backward_, weights.value, for_data.weights_desc());
    call(backward_, dnnl::convolution_backward_data(for_data),
         {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WEIGHTS, kernel}, {DNNL_ARG_DIFF_SRC, result}});
    return result;
  }

  // Keeps a buffer alive that only a view refers to.
  const memory& keep(const memory& buffer) {
    kept_.push_back(buffer);
    return kept_.back();
  }

  float softmax_cross_entropy(const std::vector<int>& labels) {
    const float* logits = static_cast<const float*>(logits_.get_data_handle());
    float* gradient = static_cast<float*>(grad_logits_.get_data_handle());
    float loss = 0;
    for (int sample = 0; sample < batch_; ++sample) {
      const float* row = logits + sample * 10;
      const float top = *std::max_element(row, row + 10);
      float sum = 0;
      for (int c = 0; c < 10; ++c) sum += std::exp(row[c] - top);
      for (int c = 0; c < 10; ++c)
        gradient[sample * 10 + c] = std::exp(row[c] - top) / sum / static_cast<float>(batch_);
      const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(sample)]);
      gradient[static_cast<std::size_t>(sample) * 10 + label] -= 1.0f / static_cast<float>(batch_);
      loss += (std::log(sum) + top - row[label]) / static_cast<float>(batch_);
    }
    return loss;
  }

  static void update(Parameter& parameter) {
    float* value = static_cast<float*>(parameter.value.get_data_handle());
    float* velocity = static_cast<float*>(parameter.velocity.get_data_handle());
    const float* gradient = static_cast<const float*>(parameter.gradient.get_data_handle());
    const auto count = static_cast<std::ptrdiff_t>(parameter.value.get_desc().get_size() / sizeof(float));
#pragma omp parallel for simd if (count > 4096)
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      velocity[i] = kMomentum * velocity[i] - kLearningRate * gradient[i];
      value[i] += velocity[i];
    }
  }

  int batch_;
  std::mt19937& random_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Parameter> parameters_;
  std::vector<Layer> layers_;
  std::vector<Call> forward_, backward_;
  std::vector<memory> kept_;
  memory image_, logits_, grad_logits_, flatten_from_, flatten_to_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bare_convnet BATCH THREADS STEPS\n");
    return 2;
  }
  const int batch = std::atoi(argv[1]), threads = std::atoi(argv[2]), steps = std::atoi(argv[3]);
  omp_set_num_threads(threads);
  std::mt19937 random(1);
  Network network(batch, random);
  std::vector<int> labels(static_cast<std::size_t>(batch));
  for (int& label : labels) label = static_cast<int>(random() % 10);
  std::printf("{\"seconds\": [");
  float loss = 0;
  for (int step = 0; step < steps; ++step) {
    const auto start = std::chrono::steady_clock::now();
    loss = network.step(labels);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%s%.7f", step ? ", " : "", took.count());
  }
  std::printf("], \"loss\": %.6g}\n", static_cast<double>(loss));
  return 0;
}
