// The concrete optimizers; made by optimizer_from_options() and optimizer_from_keras(). Internal to
// lib/optim.
#pragma once

#include "lib/optim/optimizer.h"

namespace stoker::optim {

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
};

// Slot "momentum" unless momentum is 0.
class Sgd : public Optimizer {
 public:
  Sgd(SgdOptions options, CommonOptions common);

 private:
  void update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters, const float* gradients,
                    float* const* slots) const override;
  std::vector<std::string> own_options() const override;
  SgdOptions options_;
};

struct AdamOptions {
  double beta_1 = 0.9, beta_2 = 0.999, epsilon = 1e-7;
  bool amsgrad = false;
};

// Slots "momentum", "velocity" and, with amsgrad, "velocity_hat". AdamW is Adam with another default of
// weight_decay.
class Adam : public Optimizer {
 public:
  Adam(std::string name, AdamOptions options, CommonOptions common);

 private:
  void update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters, const float* gradients,
                    float* const* slots) const override;
  std::vector<std::string> own_options() const override;
  AdamOptions options_;
};

struct RmspropOptions {
  double rho = 0.9, momentum = 0, epsilon = 1e-7;
  bool centered = false;
};

// Slots "velocity", then "momentum" unless momentum is 0, then "average_gradient" if centered.
class Rmsprop : public Optimizer {
 public:
  Rmsprop(RmspropOptions options, CommonOptions common);

 private:
  void update_chunk(const RangeUpdate& range, std::int64_t count, float* parameters, const float* gradients,
                    float* const* slots) const override;
  std::vector<std::string> own_options() const override;
  RmspropOptions options_;
};

}  // namespace stoker::optim
