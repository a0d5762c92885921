#include "smdebug/read/run_packing.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/base/try.h"

#include "format/file_sizes.h"
#include "format/run_file.h"
#include "format/statistics_file.h"
#include "index/checked_index_file.h"

namespace smdebug {
namespace {

// An index file that is listed.
struct Listed {
  std::string key;
  std::uint64_t bytes = 0;
  bool is_packed = false;
};

class RunPacking {
 public:
  RunPacking(Storage& storage, std::uint64_t attempt)
      : storage_(storage), attempt_(attempt) {}

  Result<PackingCounts> run() {
    SMD_CHECK_OK(list_index_files());
    SMD_CHECK_OK(note_packed());
    for (auto& [worker, steps] : workers_) {
      SMD_CHECK_OK(pack(worker, steps));
    }
    for (const std::string& key : outdated_) {
      SMD_CHECK_OK(storage_.remove(key));
      ++counts_.removed;
    }
    return counts_;
  }

 private:
  using Steps = std::map<Step, Listed>;

  Status list_index_files() {
    SMD_TRY(const auto listed, storage_.list(kIndexPrefix));
    for (const ObjectEntry& object : listed) {
      const auto name = parse_step_file_key(object.key);
      if (!name || !object.is_file || object.bytes > kMaxIndexFileBytes) {
        continue;
      }
      workers_[name->worker].try_emplace(name->step,
                                         Listed{object.key, object.bytes});
    }
    return {};
  }

  // Finds the index files that a statistics file has. A statistics file with
  // a step that has changed or is missing is written again.
  Status note_packed() {
    SMD_TRY(const auto listed, storage_.list(kStatisticsPrefix));
    for (const ObjectEntry& object : listed) {
      const auto name = parse_statistics_file_key(object.key);
      if (!name || !object.is_file) continue;
      SMD_TRY(const bool is_current, note_steps_of(object.key));
      if (!is_current) outdated_.insert(object.key);
    }
    return {};
  }

  Result<bool> note_steps_of(const std::string& key) {
    const auto bytes = get_object(storage_, key, kMaxStatisticsFileBytes);
    if (!bytes && bytes.error().code == Error::Code::io) return bytes.error();
    if (!bytes) return false;
    const auto file = parse_statistics_file(bytes->span());
    if (!file) return false;
    std::vector<Listed*> packed;
    for (const auto& [name, index_bytes, first, end] : file->steps()) {
      Steps& steps = workers_[name.worker];
      const auto listed = steps.find(name.step);
      if (listed == steps.end() || listed->second.bytes != index_bytes) {
        return false;
      }
      packed.push_back(&listed->second);
    }
    for (Listed* step : packed) {
      counts_.packed_before += step->is_packed ? 0 : 1;
      step->is_packed = true;
    }
    return true;
  }

  Status pack(const std::string& worker, const Steps& steps) {
    StatisticsFileBuilder builder(worker);
    std::vector<std::pair<Step, const Listed*>> missing;
    for (const auto& [step, listed] : steps) {
      if (!listed.is_packed) missing.emplace_back(step, &listed);
    }
    for (auto next = missing.begin(); next != missing.end();) {
      const auto first = next;
      IndexFileBatch batch;
      for (; next != missing.end() && !batch.is_full(); ++next) {
        batch.add(next->second->key, next->second->bytes);
      }
      SMD_CHECK_OK(add(worker, {first, next}, batch, builder));
    }
    return write(worker, builder);
  }

  Status add(const std::string& worker,
             std::span<const std::pair<Step, const Listed*>> steps,
             const IndexFileBatch& batch, StatisticsFileBuilder& builder) {
    const std::vector<Result<Bytes>> read = batch.read(storage_);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& [step, listed] = steps[i];
      const auto content =
          checked_index_file(read[i], {step, worker}, IndexParts::everything);
      if (!content || !content->damage.empty() ||
          read[i]->size() != listed->bytes) {
        ++counts_.damaged;
        continue;
      }
      builder.add(step, listed->bytes, *content);
      ++counts_.packed;
      if (builder.is_full()) SMD_CHECK_OK(write(worker, builder));
    }
    return {};
  }

  Status write(const std::string& worker, StatisticsFileBuilder& builder) {
    if (builder.empty()) return {};
    const std::string key = statistics_file_key(
        {worker, attempt_, builder.first(), builder.last()});
    SMD_CHECK_OK(put_object(storage_, key, builder.finish()));
    outdated_.erase(key);  // it is replaced
    ++counts_.files;
    return {};
  }

  Storage& storage_;
  const std::uint64_t attempt_;
  std::map<std::string, Steps> workers_;
  std::set<std::string> outdated_;  // keys of statistics files
  PackingCounts counts_;
};

}  // namespace

Result<PackingCounts> pack_run(Storage& storage) {
  std::uint64_t attempt = 0;
  if (const auto bytes = get_object(storage, kRunFileKey, kMaxRunFileBytes)) {
    const auto file = parse_run_file(bytes->text());
    if (file) attempt = file->attempts.size();
  }
  return RunPacking(storage, attempt).run();
}

}  // namespace smdebug
