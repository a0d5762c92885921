#pragma once

// `RunTable` is the contents of a run in memory: the location of each tensor at
// each step from each worker. It is filled from index files, one at a time and
// in any order, and only grows. It reads no files: `run_index.h` fills it, and
// `read` queries it.
//
// An entry takes 32 bytes plus 4 to 5 in its tensor's list; a step about 250
// bytes. Names, shapes and workers are stored once. Statistics have a separate
// column, which may be filled later.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
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
#include "format/statistics_file.h"

namespace smdebug {

using TensorId = std::uint32_t;
using EntryId = std::uint32_t;
using FileId = std::uint32_t;
using WorkerId = std::uint32_t;

inline constexpr std::uint32_t kNone = UINT32_MAX;

// Longer records are left out: no writer produces them.
inline constexpr std::uint64_t kMaxRecordBytes = UINT32_MAX;

// One tensor, or one saved reduction of it, in one index file.
struct IndexEntry {
  std::uint64_t start = 0;   // of the record in the event file
  std::uint32_t length = 0;  // 0: the run has no record
  std::uint32_t payload_crc32c = 0;
  TensorId tensor = 0;
  FileId file = 0;
  std::uint32_t shape = kNone;
  std::uint8_t op_code = 0;     // 0: the tensor itself
  std::uint8_t dtype_code = 0;  // 0: unknown without the record
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
  std::uint32_t statistics = 0;            // number of entries with statistics
  std::uint32_t first_statistics = kNone;  // none: not loaded
  std::uint32_t event_file = kNone;        // none: the usual name
};

struct IndexedStep {
  StepId id;  // from the first file of this step
  std::vector<FileId> files;
  std::uint32_t workers = 0;  // distinct ones
};

// A list that only grows, for millions of small items. Items never move,
// growing copies nothing, and little memory is unused. (The blocks of
// `std::deque` are so small that their pointers matter.)
template <typename T>
class ChunkedList {
 public:
  std::size_t size() const { return size_; }

  const T& operator[](std::size_t i) const {
    return (*chunks_[i / kChunk])[i % kChunk];
  }
  T& operator[](std::size_t i) { return (*chunks_[i / kChunk])[i % kChunk]; }

  T& emplace_back() {
    if (size_ == chunks_.size() * kChunk) {
      chunks_.push_back(std::make_unique<Chunk>());
    }
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  using Chunk = std::array<T, kChunk>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

// The texts of a statistics file in the table, by their codes: each is looked
// up once, when it is first used.
struct PackedIds {
  std::vector<TensorId> tensors;      // kNone: not used yet
  std::vector<std::uint32_t> shapes;  // same
  std::vector<std::uint8_t> dtypes, reductions;
};

class RunTable {
 public:
  RunTable() = default;
  RunTable(const RunTable&) = delete;
  RunTable& operator=(const RunTable&) = delete;

  // Adds the entries of `content`. Entries with the same tensor are merged; the
  // later of two values counts. `with_statistics` is false if the columns were
  // not decoded.
  FileId add_file(const StepFileName& name, const IndexFile& content,
                  bool with_statistics);

  // Same for the rows of a step in a statistics file. `ids` are those of the
  // file, empty before its first step.
  FileId add_packed(const StatisticsFile& file,
                    const StatisticsFile::StepRows& step, PackedIds& ids,
                    bool with_statistics);

  // Empties the table, because the run has begun again. Ids stay valid: those
  // of entries and files refer to what was forgotten, and those of tensors to
  // the same names.
  void restart();

  // Fills the statistics of a file that was added without them.
  void add_statistics(FileId file, const IndexFile& content);
  void add_packed_statistics(FileId id, const StatisticsFile& file,
                             const StatisticsFile::StepRows& step,
                             PackedIds& ids);

  // Returns true if this step of this worker was added.
  bool has_file(const StepFileName& name) const;

  std::size_t tensor_count() const { return tensors_.size(); }
  // Returns none for a name without entries.
  std::optional<TensorId> find_tensor(std::string_view name) const;
  // False for a tensor of which only an earlier attempt had entries.
  bool has_entries(TensorId id) const { return !tensors_[id].entries.empty(); }
  const std::string& tensor_name(TensorId id) const {
    return tensors_[id].name;
  }
  // Returns the framework's name of the tensor, or an empty text.
  const std::string& original_name(TensorId id) const {
    return tensors_[id].original_name;
  }
  bool is_seen_in(TensorId id, Mode mode) const {
    return tensors_[id].modes >> mode_index(mode) & 1;
  }
  // Returns entries in ascending order of steps; those of one step in the order
  // in which they were added.
  std::span<const EntryId> entries_of(TensorId id) const {
    return tensors_[id].entries;
  }
  std::span<const EntryId> entries_at(TensorId id, Step step) const;

  std::size_t entry_count() const { return entries_.size(); }
  const IndexEntry& entry(EntryId id) const { return entries_[id]; }
  const IndexedFile& file(FileId id) const { return files_[id]; }
  std::size_t file_count() const { return files_.size(); }
  Step step_of(EntryId id) const { return files_[entries_[id].file].step; }

  // Returns null if the run has none, or they are not loaded.
  const TensorStatistics* statistics(EntryId id) const;
  bool has_statistics(EntryId id) const;
  // Returns the position within a larger tensor; null for a whole tensor.
  const ShardPlacement* placement(EntryId id) const;
  // Returns null if the shape is unknown without the record.
  const std::vector<std::int64_t>* shape(EntryId id) const;
  std::string event_file(FileId id) const;

  const std::string& worker_name(WorkerId id) const { return workers_[id]; }
  auto workers() const {
    return std::ranges::subrange(workers_.begin() + first_worker_,
                                 workers_.end());
  }

  const std::map<Step, IndexedStep>& steps() const { return steps_; }
  const IndexedStep* find_step(Step global_step) const;
  // Maps the steps of one mode to global steps. Empty for `Mode::global`.
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
  std::uint32_t intern_event_file(std::string_view key,
                                  const StepFileName& name);
  FileId begin_file(const StepFileName& name, std::string_view event_file);
  // Makes room for the statistics of a file, without values.
  void begin_statistics(IndexedFile& file);
  TensorId packed_tensor(const StatisticsFile& file, std::size_t row,
                         PackedIds& ids);
  std::uint32_t packed_shape(const StatisticsFile& file, std::size_t row,
                             PackedIds& ids);
  IndexEntry& entry_in(FileId file, TensorId tensor, std::uint8_t op_code);
  EntryId find_entry_in(FileId file, TensorId tensor,
                        std::uint8_t op_code) const;
  void add_to_list(EntryId id, std::vector<EntryId>& list) const;
  void add_step(FileId file, Mode mode, Step mode_step);

  ChunkedList<IndexEntry> entries_;
  std::deque<TensorStatistics> statistics_;
  std::deque<IndexedFile> files_;
  std::deque<NamedTensor> tensors_;
  std::unordered_map<std::string_view, TensorId> tensor_ids_;
  std::deque<std::string> workers_;
  WorkerId first_worker_ = 0;  // since `restart`
  std::map<std::vector<std::int64_t>, std::uint32_t> shape_ids_;
  std::vector<const std::vector<std::int64_t>*> shapes_;
  // Entries that are shards, ascending, and their placements.
  std::vector<std::pair<EntryId, std::uint32_t>> shards_;
  std::map<ShardPlacement, std::uint32_t> placement_ids_;
  std::vector<const ShardPlacement*> placements_;
  std::vector<std::string> event_files_;
  std::map<Step, IndexedStep> steps_;
  std::array<std::map<Step, Step>, kModes.size()> mode_steps_;
  std::uint64_t dropped_tensors_ = 0;
};

}  // namespace smdebug
