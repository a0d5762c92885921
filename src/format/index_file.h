#pragma once

// Index files: one JSON object per step and worker that says where each
// record of the event file lies (docs/format.md "Index files"). The key
// `smdebug` is ours: the statistics of every captured tensor, checksums,
// drops. The original's reader ignores it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/dtype.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/shard.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

// Returns `text` as a JSON string with its quotes, non-ASCII escaped as
// Python's json.dumps does. For names that are written every step: make once.
std::string json_string(std::string_view text);

// Builds the text of one index file. Reused from step to step: `clear` keeps
// the memory. Names come escaped (`json_string`).
class IndexFileBuilder {
 public:
  void clear();

  // `start`, `length`: the record in the event file, framing included.
  // `payload_crc32c`: of the elements alone.
  void add_tensor(std::string_view json_name, std::uint64_t start,
                  std::uint64_t length, std::uint32_t payload_crc32c);
  void add_shape(std::string_view json_name, std::string_view json_original,
                 std::span<const std::int64_t> shape);
  void add_statistics(std::string_view json_name, DType dtype,
                      std::span<const std::int64_t> shape,
                      const TensorStatistics& statistics,
                      const ShardPlacement* placement = nullptr);
  void set_drops(std::uint64_t tensors, std::uint64_t bytes);

  bool empty() const;

  // Returns the whole file; valid until the next call. `event_file_key` is
  // left out where no record was added.
  std::string_view finish(Mode mode, Step mode_step,
                          std::string_view event_file_key);

 private:
  void append_own_key();
  void append_statistics_columns();
  void append_shards();

  std::string tensors_, shapes_, names_, dtypes_, statistics_shapes_, text_;
  std::vector<TensorStatistics> statistics_;
  // Of each row; null: a whole tensor. They live until `finish`.
  std::vector<const ShardPlacement*> placements_;
  std::vector<std::uint32_t> crcs_;
  std::vector<std::uint64_t> column_;
  std::uint64_t dropped_tensors_ = 0, dropped_bytes_ = 0;
};

struct IndexedTensor {
  std::string name;  // the tag, reductions mangled
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::optional<std::uint32_t> payload_crc32c;
};

struct IndexedShape {
  std::string name;
  std::string original_name;
  std::vector<std::int64_t> shape;
};

struct IndexedStatistics {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  TensorStatistics statistics;
  std::optional<ShardPlacement> placement;  // none: a whole tensor
};

struct IndexFile {
  Mode mode = Mode::global;
  Step mode_step = 0;
  std::string event_file_key;  // empty: shapes or statistics only
  std::vector<IndexedTensor> tensors;
  std::vector<IndexedShape> shapes;
  std::vector<IndexedStatistics> statistics;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
  // What was not understood and skipped, in words; empty: nothing.
  std::vector<std::string> damage;
};

// Which parts are wanted. `locations` leaves the statistics columns undecoded:
// `IndexFile::statistics` holds names, dtypes and shapes, and zeros.
enum class IndexParts { locations, everything };

// Parses an index file of ours or the original's. Sound entries beside bad
// ones are kept, the bad ones told in `damage`. Fails with `corrupt` where
// nothing can be used: not JSON, no meta, neither payload key. Memory is
// bounded by the size of `text`.
Result<IndexFile> parse_index_file(std::string_view text, IndexParts parts);

}  // namespace smdebug
