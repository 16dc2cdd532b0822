// convert_model IN OUT.h5 [WEIGHTS]: loads a model file (and weights over it) and writes the .h5 for both
// Keras versions. Prints the digest of the weights as loaded and as read back, which must be the same.
#include <cstdio>
#include <exception>

#include "lib/base/error.h"
#include "lib/keras/model.h"

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: convert_model IN OUT.h5 [WEIGHTS]\n");
    return stoker::kExitUser;
  }
  try {
    stoker::keras::Model model = stoker::keras::load_model(argv[1], 0);
    if (argc == 4) stoker::keras::load_weights(model, argv[3]);
    stoker::keras::save_model_h5(model, argv[2]);
    const stoker::keras::Model again = stoker::keras::load_model(argv[2], 0);
    std::printf("%s %s\n", stoker::keras::weights_hash(model).c_str(),
                stoker::keras::weights_hash(again).c_str());
    return stoker::kExitDone;
  } catch (const stoker::UserError& error) {
    std::fprintf(stderr, "stoker: error: %s\n", error.what());
    return stoker::kExitUser;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "stoker: error: %s\n", error.what());
    return stoker::kExitSystem;
  }
}
