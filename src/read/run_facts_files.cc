#include "read/run_facts_files.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "smdebug/base/try.h"

#include "format/facts_file.h"
#include "format/file_names.h"
#include "format/file_sizes.h"

namespace smdebug {

Status RunFactsFiles::refresh(const Storage& storage) {
  const auto version = storage.folder_version(kFactsPrefix);
  if (version && version == listed_version_) return {};
  listed_version_.reset();
  auto found = storage.list(kFactsPrefix);
  if (!found && !storage.check_folder(kFactsPrefix)) return {};
  SMD_TRY(const std::vector<ObjectEntry> listed, std::move(found));
  listed_version_ = version;
  const std::size_t before = all_.size();
  for (const ObjectEntry& object : listed) {
    if (object.is_file && known_.insert(object.key).second)
      read_file(storage, object.key);
  }
  if (all_.size() == before) return {};
  std::ranges::stable_sort(all_, {}, [](const WorkerFacts& one) {
    return std::tuple(one.facts.step, std::string_view(one.worker));
  });
  return {};
}

// A file that is named after another step is damaged: its facts would apply
// from the wrong step on.
void RunFactsFiles::read_file(const Storage& storage, const std::string& key) {
  const auto name = parse_facts_file_key(key);
  if (!name) return;
  const auto bytes = get_object(storage, key, kMaxFactsFileBytes);
  if (!bytes) {
    broken_[key] = bytes.error().message;
    return;
  }
  auto facts = parse_facts_file(bytes->text());
  if (!facts) {
    broken_[key] = facts.error().message;
    return;
  }
  if (facts->step != name->step) {
    broken_[key] =
        "it contains the facts of step " + std::to_string(facts->step);
    return;
  }
  all_.push_back({name->worker, *std::move(facts)});
}

}  // namespace smdebug
