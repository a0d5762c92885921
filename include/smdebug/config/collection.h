#pragma once

// A `Collection` names tensors that are saved alike.

#include <optional>
#include <string>

#include "smdebug/config/reduction_config.h"
#include "smdebug/config/save_config.h"
#include "smdebug/core/observation.h"

namespace smdebug {

struct Collection {
  TensorGroup tensors;                    // its name and what matches it
  std::optional<SaveConfig> save_config;  // none: the hook's
  std::optional<ReductionConfig> reduction_config;  // none: the hook's
  bool save_histogram = true;
  bool is_optional = false;  // not told where it finds nothing

  const std::string& name() const { return tensors.name; }

  friend bool operator==(const Collection&, const Collection&) = default;
};

}  // namespace smdebug
