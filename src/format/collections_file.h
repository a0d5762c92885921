#pragma once

// Collection files: the finalized collections of one worker, as JSON
// (docs/format.md "Collection files").
//
// Configuration belongs to the layer `config`, which this folder may not
// include, so it is passed as plain values.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/observation.h"

namespace smdebug {

struct ModeSchedule {
  Step save_interval = 500;
  std::vector<Step> save_steps;
  Step start_step = 0;
  std::optional<Step> end_step;
};

struct StoredReductions {
  bool save_raw_tensor = false;
  std::string ops_text;  // "mean,l2_norm,abs_max"
  bool save_shape = false;
};

struct StoredCollection {
  TensorGroup tensors;  // tensor_names sorted
  std::optional<StoredReductions> reductions;
  // None: null in the file. One per mode, in the order of kModes.
  std::optional<std::array<std::optional<ModeSchedule>, 4>> schedule;
  bool save_histogram = true;
};

struct CollectionsFile {
  std::vector<StoredCollection> collections;  // in order of creation
  int num_workers = 1;
};

std::string write_collections_file(const CollectionsFile& file);

// Fails with `corrupt`. Missing fields take the original's defaults.
Result<CollectionsFile> parse_collections_file(std::string_view text);

}  // namespace smdebug
