#include "read/stored_collection.h"

#include <algorithm>

namespace smdebug {
namespace {

SaveConfig save_config_of(const StoredCollection& stored) {
  SaveConfig config;
  for (Mode mode : kModes) {
    const auto& schedule = (*stored.schedule)[mode_index(mode)];
    if (!schedule) continue;
    config.set_mode(
        mode, SaveConfigMode{schedule->save_interval, schedule->start_step,
                             schedule->end_step, schedule->save_steps});
  }
  return config;
}

}  // namespace

Result<Collection> collection_of(const StoredCollection& stored) {
  Collection collection;
  collection.tensors = stored.tensors;
  collection.save_histogram = stored.save_histogram;
  if (stored.schedule) collection.save_config = save_config_of(stored);
  if (stored.reductions) {
    ReductionConfig& config = collection.reduction_config.emplace();
    config.save_raw_tensor = stored.reductions->save_raw_tensor;
    config.save_shape = stored.reductions->save_shape;
    if (!stored.reductions->ops_text.empty()) {
      SMD_TRY(config.ops,
              ReductionConfig::parse_ops(stored.reductions->ops_text));
    }
  }
  return collection;
}

StoredCollection stored_of(const Collection& collection) {
  StoredCollection stored;
  stored.tensors = collection.tensors;
  std::ranges::sort(stored.tensors.tensor_names);
  stored.save_histogram = collection.save_histogram;
  if (collection.reduction_config) {
    const ReductionConfig& config = *collection.reduction_config;
    stored.reductions = StoredReductions{config.save_raw_tensor,
                                         config.ops_text(), config.save_shape};
  }
  if (!collection.save_config) return stored;
  auto& schedules = stored.schedule.emplace();
  for (Mode mode : kModes) {
    const auto& config = collection.save_config->mode(mode);
    if (!config) continue;
    schedules[mode_index(mode)] =
        ModeSchedule{config->save_interval, config->save_steps,
                     config->start_step, config->end_step};
  }
  return stored;
}

}  // namespace smdebug
