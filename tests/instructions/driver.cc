// Repeats a hot path, so that test_instruction_counts.py can count its
// instructions: puts tensors and scalars into a session, which writes them.
//
//     smdebug_instruction_driver FOLDER STEPS TENSORS ELEMENTS INTERVAL

#include <cstddef>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/capture/session.h"

using namespace smdebug;

int main(int, char** argv) {
  const int steps = std::atoi(argv[2]);
  const int tensors = std::atoi(argv[3]);
  const auto elements = static_cast<std::size_t>(std::atoi(argv[4]));

  SessionOptions options;
  options.config.out_dir = argv[1];
  options.config.save_all = true;
  SaveConfigMode schedule;
  schedule.save_interval = std::atoi(argv[5]);
  options.config.save_config = SaveConfig(schedule);
  options.framework = plain_framework();
  auto session = *Session::create(std::move(options));

  std::vector<TensorSlot> slots;
  for (int i = 0; i < tensors; ++i)
    slots.push_back(session->tensor("layer" + std::to_string(i) + ".weight"));
  const std::vector<float> values(elements, 1.5f);
  const std::int64_t shape[] = {static_cast<std::int64_t>(elements)};
  const TensorView tensor{DType::float32,
                          reinterpret_cast<const std::byte*>(values.data()),
                          shape,
                          {}};
  const ScalarSlot loss = session->scalar("loss");
  for (int step = 0; step < steps; ++step) {
    session->begin_step();
    for (const TensorSlot& slot : slots) {
      slot.put(tensor);
      loss.note(step);
    }
    session->end_step();
    if (!session->flush()) return 1;
  }
  return session->close() ? 0 : 1;
}
