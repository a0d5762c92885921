// Fits y = 3x by gradient descent with a learning rate that is far too large,
// records the training, and uses a rule to find where it diverges.

#include <cstdio>

#include "smdebug/smdebug.h"

int fail(const smdebug::Error& error) {
  std::fprintf(stderr, "%s\n", error.message.c_str());
  return 1;
}

int main(int argc, char** argv) {
  const char* out_dir = argc > 1 ? argv[1] : "first-run-cpp";
  smdebug::HookConfig config;
  config.out_dir = out_dir;
  config.include_collections = {"weights", "gradients"};
  config.save_config = smdebug::SaveConfig({.save_interval = 1});
  const auto session = smdebug::Session::create({.config = config});
  if (!session) return fail(session.error());
  const auto weight_slot = (*session)->tensor("weight");
  const auto gradient_slot = (*session)->tensor("gradient/weight");

  float weight = 0;
  for (int step = 0; step < 100; ++step) {
    (*session)->begin_step();
    weight_slot.put(smdebug::view(weight));
    float gradient = 0;
    for (float x : {1.0f, 2.0f, 3.0f}) gradient += 2 * x * (weight * x - 3 * x);
    gradient_slot.put(smdebug::view(gradient));
    weight -= 0.5f * gradient;
  }
  if (const auto closed = (*session)->close(); !closed)
    return fail(closed.error());

  const auto result = smdebug::judge(out_dir, {"ExplodingTensor"});
  if (!result) return fail(result.error());
  std::printf("%d steps judged\n%s\n", static_cast<int>(result->steps),
              result->verdicts[0].message.c_str());
}
