// Trains a classifier of wines, records it, judges it inside the loop, and
// reads the recorded run.
//
//     wine_training RUN wine.csv [LEARNING_RATE]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "smdebug/smdebug.h"

#include "classifier.h"
#include "wine_table.h"

using namespace smdebug;

namespace {

constexpr int kSteps = 200;

TensorView view_of(const Matrix& matrix) {
  return view(matrix.values, matrix.shape);
}

// Saves losses at every step and everything else at every tenth.
Result<std::unique_ptr<Session>> start_recording(const std::string& out_dir) {
  HookConfig config;
  config.out_dir = out_dir;
  config.save_config = SaveConfig({.save_interval = 10});
  Collection losses{.tensors = {"losses", {"^loss$"}, {}}};
  losses.save_config = SaveConfig({.save_interval = 1});
  Collection network{.tensors = {"network", {"weight$", "activations"}, {}}};
  config.collections = {losses, network};
  config.include_collections = {"losses", "network"};
  return Session::create({.config = config});
}

Status train(const std::string& out_dir, const WineTable& wines,
             float learning_rate) {
  auto created = start_recording(out_dir);
  if (!created) return created.error();
  Session* session = created->get();
  // Judges the tensors of each step before the weights change.
  StepMonitor monitor;
  const auto sink = monitor.add_worker({"ExplodingTensor"}, [out_dir] {
    return StatusPlace{out_dir, {}};
  });
  if (!sink) return sink.error();
  session->set_sink(*sink);
  session->set_mode(Mode::train);
  const TensorSlot hidden_weight = session->tensor("hidden.weight");
  const TensorSlot output_weight = session->tensor("output.weight");
  const TensorSlot hidden_gradient = session->tensor("gradient/hidden.weight");
  const TensorSlot output_gradient = session->tensor("gradient/output.weight");
  const TensorSlot activations = session->tensor("hidden.activations");
  const TensorSlot loss_slot = session->tensor("loss");

  Classifier classifier(/*seed=*/7);
  for (int step = 0; step < kSteps; ++step) {
    session->begin_step();
    hidden_weight.put(view_of(classifier.hidden_weight));
    output_weight.put(view_of(classifier.output_weight));
    const float loss = classifier.forward(wines);
    activations.put(view_of(classifier.activations));
    loss_slot.put(view(loss));
    classifier.backward(wines);
    hidden_gradient.put(view_of(classifier.hidden_gradient));
    output_gradient.put(view_of(classifier.output_gradient));

    session->before_update();
    if (const auto issues = monitor.take_findings(); !issues.empty()) {
      std::printf("stopped before the update: %s\n",
                  issues.front().message.c_str());
      break;
    }
    classifier.update(learning_rate);
  }
  session->set_sink(nullptr);
  monitor.finish();
  return session->close();
}

Result<float> loss_at(Tensor& loss, Step step) {
  const auto value = loss.value({.step = step, .mode = Mode::train});
  if (!value) return value.error();
  const auto numbers = elements<float>(value->view());
  if (!numbers) return numbers.error();
  return numbers->front();
}

Status print_losses(Trial& trial) {
  auto loss = trial.tensor("loss");
  if (!loss) return loss.error();
  const std::vector<Step> steps = loss->steps(Mode::train);
  const auto first = loss_at(*loss, steps.front());
  if (!first) return first.error();
  const auto last = loss_at(*loss, steps.back());
  if (!last) return last.error();
  std::printf("loss %.4f at step %d, %.4f at step %d\n", *first,
              static_cast<int>(steps.front()), *last,
              static_cast<int>(steps.back()));
  return {};
}

Status read_back(const std::string& out_dir) {
  const auto trial = Trial::open(out_dir);
  if (!trial) return trial.error();
  if (Status printed = print_losses(**trial); !printed) return printed;
  for (const std::string& name : (*trial)->tensor_names()) {
    auto tensor = (*trial)->tensor(name);
    if (!tensor) return tensor.error();
    const auto statistics =
        tensor->statistics({.step = tensor->steps().back()});
    if (!statistics) return statistics.error();
    std::printf("%-24s %3d steps, mean at the last %.3g\n", name.c_str(),
                static_cast<int>(tensor->steps().size()), statistics->mean);
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s RUN wine.csv [LEARNING_RATE]\n", argv[0]);
    return 2;
  }
  const WineTable wines = read_wine_table(argv[2]);
  if (wines.rows() == 0) {
    std::fprintf(stderr, "no table of wines in '%s'\n", argv[2]);
    return 1;
  }
  const float learning_rate = argc > 3 ? std::strtof(argv[3], nullptr) : 0.5f;
  Status status = train(argv[1], wines, learning_rate);
  if (status) status = read_back(argv[1]);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
