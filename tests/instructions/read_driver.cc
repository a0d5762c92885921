// Repeats a hot path, so that test_instruction_counts.py can count its
// instructions: opens a run and reads one value repeatedly.
//
//     smdebug_read_instruction_driver FOLDER STEPS TENSORS ELEMENTS VALUES

#include <cstdlib>
#include <string>
#include <vector>

#include "smdebug/read/trial.h"
#include "smdebug/store/open_storage.h"

#include "index/written_run_testing.h"

using namespace smdebug;

int main(int, char** argv) {
  const int steps = std::atoi(argv[2]);
  const int tensors = std::atoi(argv[3]);
  const auto elements = static_cast<std::size_t>(std::atoi(argv[4]));
  const int values = std::atoi(argv[5]);

  WrittenRun run(*open_storage(argv[1]));
  run.put_collections("worker_0", 1);
  for (Step step = 0; step < steps; ++step) {
    WrittenStep written{{step, Mode::train, step}};
    for (int i = 0; i < tensors; ++i) {
      written.tensors.push_back({"layer" + std::to_string(i) + ".weight",
                                 std::vector<float>(elements, 1.5f), true});
    }
    run.put_step(written);
  }
  const auto trial = *Trial::open(run.storage());
  Tensor tensor = *trial->tensor("layer1.weight");
  for (int i = 0; i < values; ++i) {
    if (!tensor.value({1, Mode::train})) return 1;
  }
  return 0;
}
