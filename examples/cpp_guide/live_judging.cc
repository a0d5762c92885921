// Stops its own training loop when a rule fires, before the update that would
// spoil the weights.
//
//     live_judging RUN

#include <cstdio>
#include <string>

#include "smdebug/smdebug.h"

using namespace smdebug;

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main(int, char** argv) {
  HookConfig config;
  config.out_dir = argv[1];
  config.save_config = SaveConfig({.save_interval = 1});
  config.include_collections = {"weights", "gradients"};
  const auto created = Session::create({.config = config});
  if (!created) return fail(created.error());
  Session& session = **created;

  StepMonitor monitor;
  const auto sink = monitor.add_worker({"ExplodingTensor"});
  if (!sink) return fail(sink.error());
  session.set_sink(*sink);

  const TensorSlot weight_slot = session.parameter("Line", "weight");
  const TensorSlot gradient_slot = session.gradient("Line", "weight");
  float weight = 0;
  for (int step = 0; step < 100; ++step) {
    session.begin_step();
    weight_slot.put(view(weight));
    const float gradient = 28 * (weight - 3);
    gradient_slot.put(view(gradient));

    session.before_update();
    if (const auto found = monitor.take_findings(); !found.empty()) {
      std::printf("stopped: %s\n", found.front().message.c_str());
      break;
    }
    weight -= 0.5f * gradient;
  }
  session.set_sink(nullptr);  // before the monitor is destroyed
  monitor.finish();
  std::printf("the last weight is %g\n", static_cast<double>(weight));
  const Status closed = session.close();
  return closed ? 0 : fail(closed.error());
}
