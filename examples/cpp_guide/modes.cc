// Trains and evaluates in turn. Each mode counts its own steps.
//
//     modes RUN

#include <cstdio>

#include "smdebug/smdebug.h"

using namespace smdebug;

int main(int, char** argv) {
  HookConfig config;
  config.out_dir = argv[1];
  SaveConfig when;
  when.set_mode(Mode::train, SaveConfigMode{.save_interval = 5});
  when.set_mode(Mode::eval, SaveConfigMode{.save_interval = 1});
  config.save_config = when;
  auto created = Session::create({.config = config});
  if (!created) {
    std::fprintf(stderr, "%s\n", created.error().message.c_str());
    return 1;
  }
  Session& session = **created;
  const TensorSlot loss = session.tensor("loss");

  for (int epoch = 0; epoch < 3; ++epoch) {
    session.set_mode(Mode::train);
    for (int batch = 0; batch < 10; ++batch) {
      session.begin_step();  // ends the step before
      loss.put(view(1.0f / static_cast<float>(1 + epoch * 10 + batch)));
    }
    session.set_mode(Mode::eval);
    session.begin_step();
    loss.put(view(0.5f));
    session.save_scalar("accuracy", 0.9);  // whether the step is due or not
  }
  session.end_step();

  const SessionStatus status = session.status();
  if (status.error) std::fprintf(stderr, "%s\n", status.error->message.c_str());
  for (const auto& [name, reason] : status.skipped)
    std::fprintf(stderr, "%s: %s\n", name.c_str(), reason.c_str());
  const Status closed = session.close();
  if (!closed) std::fprintf(stderr, "%s\n", closed.error().message.c_str());
  return closed ? 0 : 1;
}
