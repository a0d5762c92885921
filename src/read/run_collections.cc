#include "read/run_collections.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/try.h"

#include "format/file_names.h"
#include "format/file_sizes.h"

namespace smdebug {
namespace {

// Every tensor is in it.
constexpr std::string_view kAllCollection = "all";

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

std::map<std::string, std::string, std::less<>> first_collections(
    const std::vector<Collection>& collections) {
  std::map<std::string, std::string, std::less<>> first;
  for (const Collection& collection : collections) {
    if (collection.tensors.name == kAllCollection) continue;
    for (const std::string& name : collection.tensors.tensor_names) {
      first.try_emplace(name, collection.tensors.name);
    }
  }
  return first;
}

Status RunCollections::refresh(const Storage& storage) {
  const auto version = storage.folder_version(kCollectionsPrefix);
  if (version && version == listed_version_ && broken_.empty()) return {};
  listed_version_.reset();
  auto found = storage.list(kCollectionsPrefix);
  if (!found && !storage.check_folder(kCollectionsPrefix)) return {};
  SMD_TRY(std::vector<ObjectEntry> listed, std::move(found));
  const auto same = [](const ObjectEntry& a, const ObjectEntry& b) {
    return a.key == b.key && a.bytes == b.bytes;
  };
  listed_version_ = version;
  if (broken_.empty() && std::ranges::equal(listed, listed_, same)) return {};
  const auto before = std::exchange(collections_, {});
  indices_.clear();
  workers_.clear();
  broken_.clear();
  num_workers_ = 1;
  listed_ = std::move(listed);
  for (const ObjectEntry& object : listed_) read_file(storage, object.key);
  sort_names();
  if (collections_ != before) ++version_;
  return {};
}

void RunCollections::read_file(const Storage& storage, const std::string& key) {
  const auto worker = parse_collections_file_key(key);
  if (!worker) return;
  workers_.insert(*worker);
  const Result<Bytes> bytes =
      get_object(storage, key, kMaxCollectionsFileBytes);
  if (!bytes) {
    broken_[key] = bytes.error().message;
    return;
  }
  const auto file = parse_collections_file(bytes->text());
  if (!file) {
    broken_[key] = file.error().message;
    return;
  }
  num_workers_ = std::max(num_workers_, file->num_workers);
  for (const StoredCollection& stored : file->collections) {
    const auto known = indices_.find(stored.tensors.name);
    if (known != indices_.end()) {
      std::vector<std::string>& names =
          collections_[known->second].tensors.tensor_names;
      names.insert(names.end(), stored.tensors.tensor_names.begin(),
                   stored.tensors.tensor_names.end());
      continue;
    }
    auto collection = collection_of(stored);
    if (collection) {
      indices_.emplace(stored.tensors.name, collections_.size());
      collections_.push_back(*std::move(collection));
    } else {
      broken_[key] = "collection '" + stored.tensors.name +
                     "': " + collection.error().message;
    }
  }
}

void RunCollections::sort_names() {
  for (Collection& collection : collections_) {
    std::vector<std::string>& names = collection.tensors.tensor_names;
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
}

std::vector<TensorGroup> RunCollections::groups() const {
  std::vector<TensorGroup> groups;
  for (const Collection& collection : collections_) {
    groups.push_back(collection.tensors);
  }
  return groups;
}

}  // namespace smdebug
