// Fits y = 3x by gradient descent with a learning rate that is far too large,
// records the training, and uses a rule to find where it diverges.

#include <cstdio>

#include "smdebug/capture/session.h"
#include "smdebug/monitor/run_monitor.h"
#include "smdebug/rules/builtin_rules.h"

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
  RunMonitor::Rules rules;
  rules.push_back(std::move(rule));
  SMD_TRY(auto monitor, RunMonitor::create(out_dir, std::move(rules)));
  SMD_TRY(const auto steps, monitor->poll());
  const MonitorResult& result = monitor->finish("Completed");
  std::printf("%d steps judged\n%s\n", static_cast<int>(steps),
              result.verdicts[0].message.c_str());
  return {};
}

int main(int argc, char** argv) {
  const Status status = run(argc > 1 ? argv[1] : "first-run-cpp");
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status.ok() ? 0 : 1;
}
