// kill_trainer RUN STEPS START PIPE
//
// A training to be killed: saves STEPS steps of kill_run.h in RUN, which was
// started START times before, then closes. After each step that it knows to be
// readable it writes the number of such steps, an int64, to the descriptor
// PIPE. Exits with 1 if it may not write the run.

#include <cstdlib>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "smdebug/capture/session.h"

#include "tests/fault/kill_run.h"

namespace smdebug {
namespace {

// Steps between two words on the pipe: the writer runs behind meanwhile.
constexpr Step kTold = 3;

void save(Session& session, const KillTensor& tensor, Step step, int start) {
  const std::vector<float> values = kill_values(tensor, step, start);
  const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
  session.tensor(tensor.name)
      .put({DType::float32,
            reinterpret_cast<const std::byte*>(values.data()),
            shape,
            {}});
}

int train(const char* run, Step steps, int start, int pipe) {
  SaveConfigMode every_step;
  every_step.save_interval = 1;
  SessionOptions options;
  options.config.out_dir = run;
  options.config.save_all = true;
  options.config.save_config = SaveConfig(every_step);
  options.framework = pytorch_framework();
  auto session = Session::create(std::move(options));
  if (!session) return 1;
  for (Step step = 0; step < steps; ++step) {
    (*session)->begin_step();
    for (const KillTensor& tensor : kKillTensors) {
      if (step % tensor.interval == 0) save(**session, tensor, step, start);
    }
    (*session)->end_step();
    if (step % kTold != kTold - 1) continue;
    const Step readable = step + 1;
    if (!(*session)->flush() ||
        write(pipe, &readable, sizeof(readable)) != sizeof(readable)) {
      return 1;
    }
  }
  const bool has_saved = (*session)->status().steps_saved > 0;
  return (*session)->close() && has_saved ? 0 : 1;
}

}  // namespace
}  // namespace smdebug

int main(int, char** arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return smdebug::train(arguments[1], std::atoll(arguments[2]),
                        std::atoi(arguments[3]), std::atoi(arguments[4]));
}
