// The one place that names a concrete backend.
#pragma once

#include <memory>
#include <string>

#include "lib/backend/backend.h"

namespace stoker::trainer {

// device: auto, cpu or cuda. Throws UserError when it is not to be had. The calling thread becomes the
// compute thread.
std::unique_ptr<backend::Backend> make_backend(const std::string& device, int threads);

}  // namespace stoker::trainer
