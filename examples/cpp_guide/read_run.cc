// Reads the losses of a run and judges it.
//
//     read_run RUN

#include <cstdio>
#include <string>

#include "smdebug/smdebug.h"

using namespace smdebug;

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main(int, char** argv) {
  const auto opened = Trial::open(argv[1]);
  if (!opened) return fail(opened.error());
  Trial& trial = **opened;

  for (const std::string& name : trial.tensor_names()) {
    auto tensor = trial.tensor(name);
    if (!tensor) return fail(tensor.error());
    const auto steps = tensor->steps();
    const auto statistics = tensor->statistics({.step = steps.back()});
    if (!statistics) return fail(statistics.error());
    std::printf("%s: %d steps, mean at the last %.3g\n", name.c_str(),
                static_cast<int>(steps.size()), statistics->mean);
  }

  auto loss = trial.tensor("loss");
  if (!loss) return fail(loss.error());
  for (const Step step : loss->steps(Mode::train)) {
    const auto value = loss->value({.step = step, .mode = Mode::train});
    if (!value) return fail(value.error());
    const auto numbers = elements<float>(value->view());
    if (!numbers) return fail(numbers.error());
    std::printf("TRAIN step %d: loss %.4f\n", static_cast<int>(step),
                static_cast<double>(numbers->front()));
  }

  const auto result = judge(
      trial, {{"LossNotDecreasing", {{"num_steps", "5"}}}, "ExplodingTensor"});
  if (!result) return fail(result.error());
  for (const Verdict& verdict : result->verdicts) {
    std::printf("%s: %s: %s\n", verdict.rule.c_str(),
                std::string(rule_status_name(verdict.status)).c_str(),
                verdict.message.c_str());
  }
}
