#pragma once

// What the trainer of kill_test saves, so that the test can say what must be
// there: values follow from the name, the step and how often the run was
// started before.

#include <cstdint>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

struct KillTensor {
  std::string_view name;
  std::size_t elements;
  Step interval;  // saved at each step that this divides
};

// A number, a small layer, and one that is longer than a message of the queue,
// so that deaths fall into the middle of an event file too.
inline constexpr KillTensor kKillTensors[] = {
    {"loss", 1, 1}, {"weight", 1000, 1}, {"embedding", 400'000, 5}};

// The first element is `start`. Their number depends on it too, so that two
// starts do not put a record at the same place.
inline std::vector<float> kill_values(const KillTensor& tensor, Step step,
                                      int start) {
  std::vector<float> values(tensor.elements + static_cast<unsigned>(start));
  const auto first = static_cast<std::size_t>(step) * 7 + tensor.name.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((first + i) % 1021);
  }
  values[0] = static_cast<float>(start);
  return values;
}

}  // namespace smdebug
