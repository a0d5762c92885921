// Fits y = 3x by gradient descent with a step that is far too large, records
// it, and lets a rule say where it went wrong.

#include <cstdio>

#include "smdebug/capture/session.h"
#include "smdebug/read/trial.h"
#include "smdebug/rules/builtin_rules.h"
#include "smdebug/rules/runner.h"

using namespace smdebug;

Status run(const char* out_dir) {
  SessionOptions options;
  options.config.out_dir = out_dir;
  options.config.save_all = true;
  options.config.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
  options.framework = plain_framework();
  SMD_TRY(auto session, Session::create(std::move(options)));
  const TensorSlot weight_slot = session->tensor("weight");
  const TensorSlot gradient_slot = session->tensor("gradient/weight");

  const auto scalar = [](const float& value) {
    return TensorView{
        DType::float32, reinterpret_cast<const std::byte*>(&value), {}, {}};
  };
  float weight = 0;
  for (int step = 0; step < 100; ++step) {
    session->begin_step();
    weight_slot.put(scalar(weight));
    float gradient = 0;
    for (float x : {1.0f, 2.0f, 3.0f}) gradient += 2 * x * (weight * x - 3 * x);
    gradient_slot.put(scalar(gradient));
    weight -= 0.5f * gradient;
  }
  SMD_CHECK_OK(session->close());

  SMD_TRY(auto rule, make_builtin_rule("ExplodingTensor", {}));
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(std::move(rule));
  RuleRunner runner(std::move(rules));
  SMD_TRY(auto trial, Trial::open(out_dir));
  SMD_TRY(Step next, trial->feed(runner, 0, 0));
  runner.on_run_end(0);
  std::printf("%d steps judged up to step %d\n%s\n",
              static_cast<int>(trial->steps().size()),
              static_cast<int>(next) - 1, runner.verdicts()[0].message.c_str());
  return {};
}

int main(int argc, char** argv) {
  const Status status = run(argc > 1 ? argv[1] : "first-run-cpp");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
