#include "lib/optim/optimizers.h"

#include <cmath>

#include "lib/optim/range_update.h"

namespace stoker::optim {
namespace {

std::string option(const char* key, double value) { return std::string(key) + "=" + format_double(value); }
std::string option(const char* key, bool value) {
  return std::string(key) + "=" + (value ? "true" : "false");
}

// Keras' power(float32(beta), float32(t)).
float power(double beta, std::int64_t exponent) {
  return static_cast<float>(
      std::pow(static_cast<double>(static_cast<float>(beta)), static_cast<double>(exponent)));
}

}  // namespace

// -- SGD.

Sgd::Sgd(SgdOptions options, CommonOptions common) : Optimizer("sgd", common), options_(options) {
  if (options.momentum != 0) slot_names_ = {"momentum"};
}

std::vector<std::string> Sgd::own_options() const {
  return {option("momentum", options_.momentum), option("nesterov", options_.nesterov)};
}

void Sgd::update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters,
                       const float* gradients, float* const* slots) const {
  const float rate = range.learning_rate, momentum = static_cast<float>(options_.momentum);
  if (slot_count() == 0) {
    range.for_each_element(count, parameters, gradients,
                           [=](std::int64_t, float& w, float g) { kernels::sgd_step(w, g, rate); });
    return;
  }
  float* __restrict const m = slots[0];
  if (options_.nesterov)
    range.for_each_element(count, parameters, gradients, [=](std::int64_t i, float& w, float g) {
      kernels::sgd_nesterov_step(w, m[i], g, rate, momentum);
    });
  else
    range.for_each_element(count, parameters, gradients, [=](std::int64_t i, float& w, float g) {
      kernels::sgd_momentum_step(w, m[i], g, rate, momentum);
    });
}

// -- Adam, AdamW.

Adam::Adam(std::string name, AdamOptions options, CommonOptions common)
    : Optimizer(std::move(name), common), options_(options) {
  slot_names_ = {"momentum", "velocity"};
  if (options.amsgrad) slot_names_.push_back("velocity_hat");
}

std::vector<std::string> Adam::own_options() const {
  return {option("beta_1", options_.beta_1), option("beta_2", options_.beta_2),
          option("epsilon", options_.epsilon), option("amsgrad", options_.amsgrad)};
}

void Adam::update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters,
                        const float* gradients, float* const* slots) const {
  const float power_1 = power(options_.beta_1, range.step + 1),
              power_2 = power(options_.beta_2, range.step + 1);
  kernels::AdamConstants constants{};
  constants.one_minus_beta_1 = static_cast<float>(1 - options_.beta_1);
  constants.one_minus_beta_2 = static_cast<float>(1 - options_.beta_2);
  constants.epsilon = static_cast<float>(options_.epsilon);
  constants.alpha = range.learning_rate * std::sqrt(1.0F - power_2) / (1.0F - power_1);
  float* __restrict const m = slots[0];
  float* __restrict const v = slots[1];
  if (options_.amsgrad) {
    float* __restrict const v_hat = slots[2];
    range.for_each_element(count, parameters, gradients, [=](std::int64_t i, float& w, float g) {
      kernels::amsgrad_step(w, m[i], v[i], v_hat[i], g, constants);
    });
    return;
  }
  range.for_each_element(count, parameters, gradients, [=](std::int64_t i, float& w, float g) {
    kernels::adam_step(w, m[i], v[i], g, constants);
  });
}

// -- RMSprop.

Rmsprop::Rmsprop(RmspropOptions options, CommonOptions common)
    : Optimizer("rmsprop", common), options_(options) {
  slot_names_ = {"velocity"};
  if (options.momentum > 0) slot_names_.push_back("momentum");
  if (options.centered) slot_names_.push_back("average_gradient");
}

std::vector<std::string> Rmsprop::own_options() const {
  return {option("rho", options_.rho), option("momentum", options_.momentum),
          option("epsilon", options_.epsilon), option("centered", options_.centered)};
}

void Rmsprop::update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters,
                           const float* gradients, float* const* slots) const {
  kernels::RmspropConstants constants{};
  constants.rho = static_cast<float>(options_.rho);
  constants.one_minus_rho = static_cast<float>(1 - options_.rho);
  constants.momentum = static_cast<float>(options_.momentum);
  constants.epsilon = static_cast<float>(options_.epsilon);
  constants.learning_rate = range.learning_rate;
  float* __restrict const v = slots[0];
  float* const m = options_.momentum > 0 ? slots[1] : nullptr;
  float* const a = options_.centered ? slots[slot_count() - 1] : nullptr;
  const auto with_increment = [&](auto increment) {
    if (m == nullptr)
      range.for_each_element(count, parameters, gradients,
                             [=](std::int64_t i, float& w, float g) { w -= increment(i, g); });
    else
      range.for_each_element(count, parameters, gradients, [=](std::int64_t i, float& w, float g) {
        kernels::rmsprop_momentum_step(w, m[i], increment(i, g), constants.momentum);
      });
  };
  if (a == nullptr)
    with_increment([=](std::int64_t i, float g) { return kernels::rmsprop_increment(v[i], g, constants); });
  else
    with_increment([=](std::int64_t i, float g) {
      return kernels::rmsprop_centered_increment(v[i], a[i], g, constants);
    });
}

}  // namespace stoker::optim
