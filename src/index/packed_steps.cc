#include "index/packed_steps.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/parallel.h"
#include "smdebug/base/try.h"

#include "format/file_sizes.h"

namespace smdebug {
namespace {

// Files that are read at once: a store takes longer to answer than to send one.
constexpr std::size_t kFilesAtOnce = 8;

Result<PackedFile> read(const Storage& storage, const std::string& key) {
  SMD_TRY(Bytes bytes, get_object(storage, key, kMaxStatisticsFileBytes));
  SMD_TRY(StatisticsFile table, parse_statistics_file(bytes.span()));
  return PackedFile{std::move(bytes), std::move(table)};
}

}  // namespace

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

std::optional<PackedStep> PackedSteps::find(const StepFileName& name,
                                            std::uint64_t bytes) {
  std::erase_if(files_,
                [&](const Listed& file) { return file.name.last < name.step; });
  const auto may_have_it = [&](const Listed& file) {
    return file.name.first <= name.step && file.name.worker == name.worker;
  };
  while (std::ranges::any_of(files_, [&](const Listed& file) {
    return may_have_it(file) && !file.file;
  })) {
    read_next();
  }
  std::optional<PackedStep> found;
  for (const Listed& listed : files_) {
    if (found || !may_have_it(listed)) continue;
    PackedFile& file = *listed.file;
    const auto& steps = file.table.steps();
    while (file.next < steps.size() && steps[file.next].name.step < name.step) {
      ++file.next;
    }
    // The index file was replaced if it has another size.
    if (file.next < steps.size() && steps[file.next].name == name &&
        steps[file.next].index_bytes == bytes) {
      found = {listed.file, &steps[file.next]};
    }
  }
  return found;
}

void PackedSteps::read_next() {
  std::vector<Listed*> next;
  for (Listed& listed : files_) {
    if (!listed.file) next.push_back(&listed);
  }
  std::ranges::stable_sort(
      next, {}, [](const Listed* listed) { return listed->name.first; });
  next.resize(std::min(next.size(), kFilesAtOnce));
  std::vector<std::string> failures(next.size());
  concurrent_for(next.size(), kFilesAtOnce, [&](std::size_t i) {
    auto file = read(storage_, next[i]->key);
    if (file) {
      next[i]->file = std::make_shared<PackedFile>(*std::move(file));
    } else {
      failures[i] = file.error().message;
    }
  });
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (!next[i]->file) broken_.emplace(next[i]->key, failures[i]);
  }
  std::erase_if(files_, [&](const Listed& listed) {
    return broken_.contains(listed.key);
  });
}

}  // namespace smdebug
