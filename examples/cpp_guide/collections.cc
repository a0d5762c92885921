// Saves each kind of tensor in its own form and as often as it is needed.
//
//     collections RUN

#include <cstdio>
#include <vector>

#include "smdebug/smdebug.h"

using namespace smdebug;

HookConfig configuration(const char* out_dir) {
  HookConfig config;
  config.out_dir = out_dir;
  // Everything that is saved, unless its collection says otherwise.
  config.save_config = SaveConfig({.save_interval = 10});
  // Losses are saved by default.
  config.include_collections = {"weights", "biases", "activations"};
  // A custom collection: tensors by pattern, stored as reductions.
  Collection activations;
  activations.tensors.name = "activations";
  activations.tensors.include_regex = {"activations$"};
  activations.reduction_config = ReductionConfig{
      .ops = {{Reduction::mean}, {Reduction::max}}, .save_shape = true};
  config.collections = {activations};
  return config;
}

int main(int, char** argv) {
  auto created = Session::create({.config = configuration(argv[1])});
  if (!created) {
    std::fprintf(stderr, "%s\n", created.error().message.c_str());
    return 1;
  }
  Session& session = **created;

  // Slots are looked up once. These two belong to weights and biases.
  const TensorSlot kernel = session.parameter("Net", "hidden.kernel");
  const TensorSlot bias = session.parameter("Net", "hidden.bias");
  const TensorSlot activations = session.tensor("hidden.activations");
  // A collection may also be named where the slot is made.
  const TensorSlot objective = session.tensor("objective", {"losses"});

  const std::vector<float> kernel_values(2 * 3, 0.5f), bias_values(3, 0.1f);
  for (int step = 0; step < 30; ++step) {
    session.begin_step();
    kernel.put(view(kernel_values, {2, 3}));
    bias.put(view(bias_values, {3}));
    // Skip work that only a saved tensor needs.
    if (activations.is_due()) {
      const std::vector<double> computed(4 * 3, 1.0);
      activations.put(view(computed, {4, 3}));
    }
    objective.put(view(1.0 / (step + 1)));
  }
  const Status closed = session.close();
  if (!closed) std::fprintf(stderr, "%s\n", closed.error().message.c_str());
  return closed ? 0 : 1;
}
