#include "read/run_collections.h"

#include <algorithm>
#include <utility>

#include "format/collections_file.h"
#include "format/file_names.h"

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

// Adds the names that `from` has and `to` lacks; keeps them sorted.
void merge_names(const std::vector<std::string>& from,
                 std::vector<std::string>& to) {
  to.insert(to.end(), from.begin(), from.end());
  std::ranges::sort(to);
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

}  // namespace

Status RunCollections::refresh(const Storage& storage) {
  const auto version = storage.folder_version(kCollectionsPrefix);
  if (version && version == listed_version_ && broken_.empty()) return {};
  listed_version_.reset();
  SMD_TRY(std::vector<ObjectEntry> listed, storage.list(kCollectionsPrefix));
  const auto same = [](const ObjectEntry& a, const ObjectEntry& b) {
    return a.key == b.key && a.bytes == b.bytes;
  };
  listed_version_ = version;
  if (broken_.empty() && std::ranges::equal(listed, listed_, same)) return {};
  const auto before = std::exchange(collections_, {});
  workers_.clear();
  broken_.clear();
  num_workers_ = 1;
  listed_ = std::move(listed);
  for (const ObjectEntry& object : listed_) read_file(storage, object.key);
  if (collections_ != before) ++version_;
  return {};
}

void RunCollections::read_file(const Storage& storage, const std::string& key) {
  const auto worker = parse_collections_file_key(key);
  if (!worker) return;
  workers_.insert(*worker);
  const Result<Bytes> bytes = get_object(storage, key);
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
    const auto known =
        std::ranges::find(collections_, stored.tensors.name, &Collection::name);
    if (known != collections_.end()) {
      merge_names(stored.tensors.tensor_names, known->tensors.tensor_names);
      continue;
    }
    auto collection = collection_of(stored);
    if (collection) {
      collections_.push_back(*std::move(collection));
    } else {
      broken_[key] = "collection '" + stored.tensors.name +
                     "': " + collection.error().message;
    }
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
