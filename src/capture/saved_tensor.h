#pragma once

// A tensor that the program saves by name, beside what the plan captures, and
// one that has to wait for a step.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/core/tensor_view.h"

namespace smdebug {

struct SavedTensor {
  std::string name;
  std::vector<std::string> collections;
  bool is_scalar = false;
  double wall_seconds = 0;  // of the record; 0: the step's
};

// Owns a copy of the elements, in C order.
class WaitingTensor {
 public:
  WaitingTensor(SavedTensor saved, const TensorView& tensor);

  const SavedTensor& saved() const { return saved_; }
  // Valid as long as this lives and stays where it is.
  TensorView view() const;

 private:
  SavedTensor saved_;
  DType dtype_;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> elements_;
  std::vector<std::string> strings_;
  std::vector<std::string_view> string_views_;
};

}  // namespace smdebug
