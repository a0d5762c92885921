#pragma once

// Index files: one JSON object per step and worker with the location of each
// record in the event file (docs/format.md, "Index files"). The key `smdebug`
// is an extension that the original's reader ignores: it contains the
// statistics of every captured tensor, checksums, and counts of dropped
// tensors.

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

// Returns `text` as a quoted JSON string, with non-ASCII characters escaped as
// by Python's json.dumps. Callers reuse the result for names that they write at
// every step.
std::string json_string(std::string_view text);

// Builds the text of one index file. Reusable: `clear` keeps the memory. Names
// must be escaped (`json_string`).
class IndexFileBuilder {
 public:
  void clear();

  // `start` and `length` locate the record in the event file, including its
  // framing. `payload_crc32c` is the checksum of only the elements.
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

  // Returns the whole file, valid until the next call. If no record was added,
  // `event_file_key` is not in `meta` but in the key `smdebug`.
  std::string_view finish(Mode mode, Step mode_step,
                          std::string_view event_file_key);

 private:
  void append_own_key(std::string_view event_file_key);
  void append_statistics_columns();
  void append_shards();

  std::string tensors_, shapes_, names_, dtypes_, statistics_shapes_, text_;
  std::vector<TensorStatistics> statistics_;
  // One per row, valid until `finish`; null for a whole tensor.
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
  // The name that the event file would have, if there is none. Only in files of
  // smdebug.
  std::string absent_event_file_key;
  std::vector<IndexedTensor> tensors;
  std::vector<IndexedShape> shapes;
  std::vector<IndexedStatistics> statistics;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
  // Messages about entries that were skipped.
  std::vector<std::string> damage;
};

// The parts to parse. `locations` does not decode the columns of statistics:
// `IndexFile::statistics` then has names, dtypes, shapes, and zeros.
enum class IndexParts { locations, everything };

// Parses an index file of smdebug or of the original. Keeps valid entries and
// reports invalid ones in `damage`. Fails with `corrupt` if no part is usable:
// if `text` is not JSON, or has no meta or no payload key. Memory is bounded by
// the size of `text`.
Result<IndexFile> parse_index_file(std::string_view text, IndexParts parts);

}  // namespace smdebug
