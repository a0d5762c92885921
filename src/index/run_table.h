#pragma once

// `RunTable` is what a run holds, in memory: which tensor, at which step, from
// which worker, in which bytes. It is filled from index files, one at a time
// and in any order, and only grows. It reads nothing itself; `run_index.h`
// feeds it, `read` asks it.
//
// An entry costs 32 bytes and a place of 4 to 5 in its tensor's list, a step
// some 250 bytes. Names, shapes and workers are kept once. Statistics lie in a
// column of their own, which may be filled later.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "smdebug/core/dtype.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/reduction.h"
#include "smdebug/core/statistics.h"

#include "format/file_names.h"
#include "format/index_file.h"
#include "index/chunked_list.h"

namespace smdebug {

using TensorId = std::uint32_t;
using EntryId = std::uint32_t;
using FileId = std::uint32_t;
using WorkerId = std::uint32_t;

inline constexpr std::uint32_t kNone = UINT32_MAX;

// A longer record is left out: no writer can make it.
inline constexpr std::uint64_t kMaxRecordBytes = UINT32_MAX;

// One tensor, or one saved reduction of it, in one index file.
struct IndexEntry {
  std::uint64_t start = 0;   // of the record in the event file
  std::uint32_t length = 0;  // 0: the run holds no record
  std::uint32_t payload_crc32c = 0;
  TensorId tensor = 0;
  FileId file = 0;
  std::uint32_t shape = kNone;
  std::uint8_t op_code = 0;     // 0: the tensor itself
  std::uint8_t dtype_code = 0;  // 0: not known without the record
  bool has_crc = false;

  bool has_record() const { return length != 0; }
  bool is_reduction() const { return op_code != 0; }
  ReductionOp op() const;
  std::optional<DType> dtype() const;
};
static_assert(sizeof(IndexEntry) == 32);

// One index file: a step of one worker. Entries that have statistics come
// first, in the order of the statistics column.
struct IndexedFile {
  Step step = 0;
  WorkerId worker = 0;
  EntryId first_entry = 0;
  std::uint32_t entries = 0;
  std::uint32_t statistics = 0;            // how many entries have them
  std::uint32_t first_statistics = kNone;  // none: not loaded
  std::uint32_t event_file = kNone;        // none: named as usual
};

struct IndexedStep {
  StepId id;  // as the first file of this step says
  std::vector<FileId> files;
  std::uint32_t workers = 0;  // different ones
};

class RunTable {
 public:
  RunTable() = default;
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;

  // Adds what `content` says. A tensor that the file names twice is kept once:
  // value and shape are merged, of two values the later one counts.
  // `with_statistics` is false where the columns were not decoded.
  FileId add_file(const StepFileName& name, const IndexFile& content,
                  bool with_statistics);

  // Fills the statistics of a file that was added without.
  void add_statistics(FileId file, const IndexFile& content);

  // True if that step of that worker was added.
  bool has_file(const StepFileName& name) const;

  std::size_t tensor_count() const { return tensors_.size(); }
  std::optional<TensorId> find_tensor(std::string_view name) const;
  const std::string& tensor_name(TensorId id) const {
    return tensors_[id].name;
  }
  // The framework's own name, or empty.
  const std::string& original_name(TensorId id) const {
    return tensors_[id].original_name;
  }
  bool is_seen_in(TensorId id, Mode mode) const {
    return tensors_[id].modes >> mode_index(mode) & 1;
  }
  // Ascending by step; those of one step in the order they were added.
  std::span<const EntryId> entries_of(TensorId id) const {
    return tensors_[id].entries;
  }
  std::span<const EntryId> entries_at(TensorId id, Step step) const;

  std::size_t entry_count() const { return entries_.size(); }
  const IndexEntry& entry(EntryId id) const { return entries_[id]; }
  const IndexedFile& file(FileId id) const { return files_[id]; }
  std::size_t file_count() const { return files_.size(); }
  Step step_of(EntryId id) const { return files_[entries_[id].file].step; }

  // None where the run has none, or they are not loaded.
  const TensorStatistics* statistics(EntryId id) const;
  bool has_statistics(EntryId id) const;
  // Which part of a larger tensor the entry is; null: a whole one.
  const ShardPlacement* placement(EntryId id) const;
  // None where it is not known without reading the record.
  const std::vector<std::int64_t>* shape(EntryId id) const;
  std::string event_file(FileId id) const;

  const std::string& worker_name(WorkerId id) const { return workers_[id]; }
  const std::deque<std::string>& workers() const { return workers_; }

  const std::map<Step, IndexedStep>& steps() const { return steps_; }
  const IndexedStep* find_step(Step global_step) const;
  // Steps of one mode: mode step -> global step. Empty for `Mode::global`.
  const std::map<Step, Step>& steps_of(Mode mode) const {
    return mode_steps_[mode_index(mode)];
  }

  std::uint64_t dropped_tensors() const { return dropped_tensors_; }

 private:
  struct NamedTensor {
    std::string name;
    std::string original_name;
    unsigned modes = 0;  // a bit per mode
    std::vector<EntryId> entries;
  };

  TensorId intern_tensor(std::string_view name);
  WorkerId intern_worker(std::string_view name);
  std::uint32_t intern_shape(const std::vector<std::int64_t>& shape);
  void add_shard(FileId file, TensorId tensor, std::uint32_t placement);
  std::uint32_t intern_placement(const ShardPlacement& placement);
  std::uint32_t intern_event_file(const IndexFile& content,
                                  const StepFileName& name);
  IndexEntry& entry_in(FileId file, TensorId tensor, std::uint8_t op_code);
  EntryId find_entry_in(FileId file, TensorId tensor,
                        std::uint8_t op_code) const;
  void add_to_list(EntryId id, std::vector<EntryId>& list) const;
  void add_step(FileId file, const IndexFile& content);

  ChunkedList<IndexEntry> entries_;
  std::deque<TensorStatistics> statistics_;
  std::deque<IndexedFile> files_;
  std::deque<NamedTensor> tensors_;
  std::unordered_map<std::string_view, TensorId> tensor_ids_;
  std::deque<std::string> workers_;
  std::map<std::vector<std::int64_t>, std::uint32_t> shape_ids_;
  std::vector<const std::vector<std::int64_t>*> shapes_;
  // Of the entries that are shards, ascending: an entry, and its placement.
  std::vector<std::pair<EntryId, std::uint32_t>> shards_;
  std::map<ShardPlacement, std::uint32_t> placement_ids_;
  std::vector<const ShardPlacement*> placements_;
  std::vector<std::string> event_files_;
  std::map<Step, IndexedStep> steps_;
  std::array<std::map<Step, Step>, kModes.size()> mode_steps_;
  std::uint64_t dropped_tensors_ = 0;
};

}  // namespace smdebug
