#include "index/packed_steps.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/try.h"

#include "format/file_sizes.h"

namespace smdebug {

PackedSteps::PackedSteps(const Storage& storage) : storage_(storage) {
  const auto listed = storage.list(kStatisticsPrefix);
  if (!listed) {
    broken_.emplace(kStatisticsPrefix, listed.error().message);
    return;
  }
  for (const ObjectEntry& object : *listed) {
    auto name = parse_statistics_file_key(object.key);
    if (!name || !object.is_file) continue;
    files_.push_back({object.key, *std::move(name)});
  }
  std::ranges::stable_sort(
      files_, std::ranges::greater(),
      [](const Listed& file) { return file.name.attempt; });
}

std::optional<IndexFile> PackedSteps::find(const StepFileName& name,
                                           std::uint64_t bytes) {
  std::optional<IndexFile> found;
  for (auto listed = files_.begin(); listed != files_.end();) {
    if (listed->name.last < name.step) {
      open_.erase(listed->key);
      listed = files_.erase(listed);
      continue;
    }
    if (found || listed->name.worker != name.worker ||
        listed->name.first > name.step) {
      ++listed;
      continue;
    }
    auto open = open_.find(listed->key);
    if (open == open_.end()) {
      Result<Open> file = read(listed->key);
      if (!file) {
        broken_.emplace(listed->key, file.error().message);
        listed = files_.erase(listed);
        continue;
      }
      open = open_.emplace(listed->key, *std::move(file)).first;
    }
    auto& [_, file, next] = open->second;
    while (next < file.steps().size() &&
           file.steps()[next].name.step < name.step) {
      ++next;
    }
    // The index file was replaced if it has another size.
    if (next < file.steps().size() && file.steps()[next].name == name &&
        file.steps()[next].index_bytes == bytes) {
      found = file.content(file.steps()[next]);
    }
    ++listed;
  }
  return found;
}

Result<PackedSteps::Open> PackedSteps::read(const std::string& key) const {
  SMD_TRY(Bytes bytes, get_object(storage_, key, kMaxStatisticsFileBytes));
  SMD_TRY(StatisticsFile file, parse_statistics_file(bytes.span()));
  return Open{std::move(bytes), std::move(file)};
}

}  // namespace smdebug
