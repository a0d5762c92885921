// Trains a classifier of wines, records it, judges it inside the loop, and
// reads the recorded run.
//
//     wine_training RUN wine.csv [LEARNING_RATE]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "smdebug/capture/session.h"
#include "smdebug/monitor/step_monitor.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/builtin_rules.h"

#include "classifier.h"
#include "wine_table.h"

using namespace smdebug;

namespace {

constexpr int kSteps = 200;

TensorView view(const Matrix& matrix) {
  return {DType::float32,
          reinterpret_cast<const std::byte*>(matrix.values.data()),
          matrix.shape,
          {}};
}

TensorView view(const float& number) {
  return {DType::float32, reinterpret_cast<const std::byte*>(&number), {}, {}};
}

// Saves losses at every step and everything else at every tenth.
Result<std::unique_ptr<Session>> start_recording(const std::string& out_dir) {
  SessionOptions options;
  options.framework = plain_framework();
  HookConfig& config = options.config;
  config.out_dir = out_dir;
  config.save_config = SaveConfig(SaveConfigMode{.save_interval = 10});
  Collection losses{.tensors = {"losses", {"^loss$"}, {}}};
  losses.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
  Collection network{.tensors = {"network", {"weight$", "activations"}, {}}};
  config.collections = {losses, network};
  config.include_collections = {"losses", "network"};
  return Session::create(std::move(options));
}

// Judges the tensors of each step of `session` before the weights change.
Status judge_steps(StepMonitor& monitor, Session& session,
                   const std::string& out_dir) {
  SMD_TRY(auto exploding, make_builtin_rule("ExplodingTensor", {}));
  StepMonitor::Rules rules;
  rules.push_back(std::move(exploding));
  SMD_TRY(ObservationSink * sink,
          monitor.add_worker(std::move(rules), [out_dir] {
            return std::optional(StatusPlace{.location = out_dir});
          }));
  session.set_sink(sink);
  return {};
}

Status train(const std::string& out_dir, const WineTable& wines,
             float learning_rate) {
  SMD_TRY(auto session, start_recording(out_dir));
  StepMonitor monitor;
  SMD_CHECK_OK(judge_steps(monitor, *session, out_dir));
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
    hidden_weight.put(view(classifier.hidden_weight));
    output_weight.put(view(classifier.output_weight));
    const float loss = classifier.forward(wines);
    activations.put(view(classifier.activations));
    loss_slot.put(view(loss));
    classifier.backward(wines);
    hidden_gradient.put(view(classifier.hidden_gradient));
    output_gradient.put(view(classifier.output_gradient));

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
  SMD_TRY(const TensorValue value, loss.value({step, Mode::train}));
  return *reinterpret_cast<const float*>(value.view().data);
}

Status read_back(const std::string& out_dir) {
  SMD_TRY(auto trial, Trial::open(out_dir));
  SMD_TRY(Tensor loss, trial->tensor("loss"));
  const std::vector<Step> steps = loss.steps(Mode::train);
  SMD_TRY(const float first, loss_at(loss, steps.front()));
  SMD_TRY(const float last, loss_at(loss, steps.back()));
  std::printf("loss %.4f at step %d, %.4f at step %d\n", first,
              static_cast<int>(steps.front()), last,
              static_cast<int>(steps.back()));
  for (const std::string& name : trial->tensor_names()) {
    SMD_TRY(Tensor tensor, trial->tensor(name));
    const Step step = tensor.steps().back();
    SMD_TRY(const TensorStatistics statistics, tensor.statistics({step}));
    std::printf("%-24s %3d steps, mean at the last %.3g\n", name.c_str(),
                static_cast<int>(tensor.steps().size()), statistics.mean);
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
