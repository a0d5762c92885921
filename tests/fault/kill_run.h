#pragma once

// The tensors that the trainer of kill_test saves. Their values are determined
// by the name, the step and the number of earlier starts of the run, so that
// the test can compute the expected ones.

#include <cstdint>
#include <string_view>
#include <vector>

#include "smdebug/core/mode.h"

namespace smdebug {

struct KillTensor {
  std::string_view name;
  std::size_t elements;
  Step interval;  // saved at the multiples of this step
};

// A number, a small layer, and one that is larger than a message of the queue,
// so that some kills interrupt the writing of an event file.
inline constexpr KillTensor kKillTensors[] = {
    {"loss", 1, 1}, {"weight", 1000, 1}, {"embedding", 400'000, 5}};

// Returns the elements of a tensor at a step. The first element is `start`. The
// number of elements depends on `start` as well, so that records of different
// starts have different positions.
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
