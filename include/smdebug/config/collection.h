#pragma once

// A `Collection` is a named set of tensors that are saved at the same steps and
// in the same form. Frameworks define some; users edit them and add their own.

#include <cstdint>
#include <optional>
#include <string>

#include "smdebug/config/reduction_config.h"
#include "smdebug/config/save_config.h"
#include "smdebug/core/observation.h"

namespace [[gnu::visibility("default")]] smdebug {

struct Collection {
  TensorGroup tensors;  // its name, patterns and tensor names
  // At which steps and in which form its tensors are saved; none: as configured
  // for the hook.
  std::optional<SaveConfig> save_config;
  std::optional<ReductionConfig> reduction_config;
  // Whether TensorBoard shows its tensors as histograms.
  bool save_histogram = true;
  // Log no warning if the collection matches no tensor.
  bool is_optional = false;
  // The most elements of each tensor that are saved; 0: all. Of a larger tensor
  // a sample is saved (core/tensor_sample.h), as if it were the tensor, unless
  // another collection saves the tensor at the same step without this limit.
  std::int64_t max_elements = 0;

  /// Returns `tensors.name`.
  const std::string& name() const { return tensors.name; }

  friend bool operator==(const Collection&, const Collection&) = default;
};

}  // namespace smdebug
