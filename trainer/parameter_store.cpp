#include "trainer/parameter_store.h"

#include <algorithm>

#include "lib/base/hash.h"

namespace stoker::trainer {
namespace {

optim::Constraint to_optim(const keras::Constraint& constraint) {
  optim::Constraint out;
  if (constraint.name == "NonNeg") out.kind = optim::Constraint::Kind::non_negative;
  if (constraint.name == "MaxNorm") out.kind = optim::Constraint::Kind::max_norm;
  out.max_value = constraint.max_value;
  out.axes.assign(constraint.axis.begin(), constraint.axis.end());
  return out;
}

optim::ParameterRange to_range(const keras::Weight& weight, const graph::ParameterLayout::Range& place) {
  optim::ParameterRange range;
  range.name = weight.name;
  range.offset = place.offset;
  range.size = place.size;
  range.shape = weight.spec.shape.dims();
  range.trainable = place.trainable;
  range.regularizer = {weight.spec.regularizer.l1, weight.spec.regularizer.l2};
  range.constraint = to_optim(weight.spec.constraint);
  return range;
}

std::size_t float_bytes(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

}  // namespace

ParameterStore::ParameterStore(backend::Backend& backend, const keras::Model& model,
                               const graph::ParameterLayout& layout, const optim::Optimizer* optimizer)
    : backend_(backend), layout_(layout), parameters_(backend.allocate(float_bytes(layout.total_size))) {
  for (std::size_t k = 0; k < model.weights.size(); ++k) {
    const keras::Weight& weight = model.weights[k];
    ranges_.push_back(to_range(weight, layout_.ranges[k]));
    float* const data = parameters() + ranges_[k].offset;
    backend_.copy_to_device(data, weight.value.data(), float_bytes(ranges_[k].size));
    tensors_.push_back({{"parameters/" + weight.name, weight.spec.shape, DType::f32}, data});
  }
  for (int i = 0; optimizer != nullptr && i < optimizer->slot_count(); ++i) {
    slots_.push_back(backend.allocate(float_bytes(layout_.trainable_size)));
    slot_pointers_.push_back(reinterpret_cast<float*>(slots_.back()->data()));
    for (const optim::ParameterRange& range : ranges_)
      if (range.trainable)
        tensors_.push_back(
            {{"optimizer/" + optimizer->slot_name(i) + "/" + range.name, Shape(range.shape), DType::f32},
             slot_pointers_.back() + range.offset});
  }
}

void ParameterStore::store_into(keras::Model& model) const {
  for (std::size_t k = 0; k < ranges_.size(); ++k)
    backend_.copy_to_host(model.weights[k].value.data(), parameters() + ranges_[k].offset,
                          float_bytes(ranges_[k].size));
}

std::vector<checkpoint::TensorSource> ParameterStore::sources() const {
  std::vector<checkpoint::TensorSource> sources;
  for (const Tensor& tensor : tensors_) sources.push_back({tensor.info, tensor.data});
  return sources;
}

std::vector<checkpoint::TensorTarget> ParameterStore::targets() const {
  std::vector<checkpoint::TensorTarget> targets;
  for (const Tensor& tensor : tensors_) targets.push_back({tensor.info, tensor.data});
  return targets;
}

std::int64_t ParameterStore::parameter_bytes() const {
  return static_cast<std::int64_t>(float_bytes(layout_.total_size));
}

std::int64_t ParameterStore::slot_bytes() const {
  return static_cast<std::int64_t>(slots_.size() * float_bytes(layout_.trainable_size));
}

std::vector<std::uint64_t> ParameterStore::digests() const {
  std::vector<std::uint64_t> digests;
  for (const optim::ParameterRange& range : ranges_)
    digests.push_back(hash64(parameters() + range.offset, float_bytes(range.size)));
  return digests;
}

MemoryReport memory_of(const ParameterStore& store, int rank, int ranks) {
  MemoryReport report;
  report.parameters = store.parameter_bytes();
  report.optimizer = store.slot_bytes();
  std::vector<checkpoint::TensorInfo> tensors;
  for (const checkpoint::TensorSource& source : store.sources()) tensors.push_back(source.info);
  report.checkpoint = static_cast<std::int64_t>(checkpoint::Writer::staging_bytes(tensors, rank, ranks));
  return report;
}

}  // namespace stoker::trainer
