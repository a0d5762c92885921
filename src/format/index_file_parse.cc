#include <cstring>

#include <fmt/format.h>
#include <simdjson.h>

#include "smdebug/base/try.h"
#include "smdebug/core/tensor_view.h"

#include "base/base64.h"
#include "base/strings.h"
#include "format/file_sizes.h"
#include "format/index_file.h"
#include "format/statistics_columns.h"

namespace smdebug {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// The largest array size that simdjson can report.
constexpr std::size_t kMaxRows = 0xffffff;

// The largest number of dimensions of a record (docs/format.md).
constexpr std::size_t kMaxDims = 255;

// Reports at most this many: one file can contain a million invalid entries.
constexpr std::size_t kMaxDamage = 20;

Error corrupt(std::string message) {
  return {Error::Code::corrupt, "index file: " + std::move(message)};
}

// Returns the member `key` as a T, or nothing if it is missing or has another
// type.
template <typename T>
std::optional<T> find(const object& parent, std::string_view key) {
  T value;
  if (parent[key].get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> read_integers(element json) {
  array items;
  if (json.get(items) != simdjson::SUCCESS) return std::nullopt;
  if (items.size() > kMaxDims) return std::nullopt;
  std::vector<std::int64_t> integers;
  for (const element item : items) {
    std::int64_t integer;
    if (item.get(integer) != simdjson::SUCCESS) return std::nullopt;
    integers.push_back(integer);
  }
  return integers;
}

std::optional<std::vector<std::int64_t>> read_shape(element json) {
  auto shape = read_integers(json);
  if (!shape || !checked_element_count(*shape)) return std::nullopt;
  return shape;
}

// Returns the numbers of a base64 column.
template <typename T>
Result<std::vector<T>> read_column(const object& parent, std::string_view key) {
  const auto text = find<std::string_view>(parent, key);
  if (!text) return corrupt(fmt::format("no column '{}'", key));
  auto bytes = decode_base64(*text);
  if (!bytes) {
    return std::move(bytes).error().within(fmt::format("column '{}'", key));
  }
  if (bytes->size() % sizeof(T) != 0) {
    return corrupt(fmt::format("column '{}' has {} bytes, not a multiple of {}",
                               key, bytes->size(), sizeof(T)));
  }
  std::vector<T> column(bytes->size() / sizeof(T));
  if (!column.empty()) {
    std::memcpy(column.data(), bytes->data(), bytes->size());
  }
  return column;
}

bool counts_add_up(const TensorStatistics& s) {
  std::uint64_t sum = 0;
  return !__builtin_add_overflow(s.nan, s.positive_inf, &sum) &&
         !__builtin_add_overflow(sum, s.negative_inf, &sum) &&
         !__builtin_add_overflow(sum, s.zeros, &sum) && sum <= s.count;
}

class IndexParser {
 public:
  IndexParser(object root, IndexParts parts) : root_(root), parts_(parts) {}

  Result<IndexFile> parse() {
    SMD_CHECK_OK(parse_meta());
    const auto tensors = find<array>(root_, "tensor_payload");
    const auto shapes = find<array>(root_, "shape_payload");
    if (!tensors && !shapes) {
      return corrupt("neither 'tensor_payload' nor 'shape_payload' exists");
    }
    if (tensors) parse_tensors(*tensors);
    if (shapes) parse_shapes(*shapes);
    if (const auto own = find<object>(root_, "smdebug")) parse_own_key(*own);
    drop_tensors_without_event_file();
    return std::move(file_);
  }

 private:
  void report(std::string damage) {
    if (file_.damage.size() < kMaxDamage) {
      file_.damage.push_back(std::move(damage));
    } else if (file_.damage.size() == kMaxDamage) {
      file_.damage.push_back("and more");
    }
  }

  Status parse_meta() {
    const auto meta = find<object>(root_, "meta");
    if (!meta) return corrupt("no object 'meta'");
    const auto mode_text = find<std::string_view>(*meta, "mode");
    const auto mode = find_mode(trimmed(mode_text.value_or("")));
    if (!mode) {
      return corrupt(
          fmt::format("expected a mode, found '{}'", mode_text.value_or("")));
    }
    const auto mode_step = find<std::int64_t>(*meta, "mode_step");
    if (!mode_step) return corrupt("no number 'mode_step'");
    file_.mode = *mode;
    file_.mode_step = *mode_step;
    file_.event_file_key =
        find<std::string_view>(*meta, "event_file_name").value_or("");
    return {};
  }

  void parse_tensors(const array& tensors) {
    for (const element item : tensors) {
      if (auto tensor = read_tensor(item)) {
        file_.tensors.push_back(std::move(*tensor));
        positions_.push_back(tensor_entries_);
      } else {
        report(fmt::format("tensor_payload[{}] is not a location",
                           tensor_entries_));
      }
      ++tensor_entries_;
    }
  }

  static std::optional<IndexedTensor> read_tensor(element json) {
    object entry;
    if (json.get(entry) != simdjson::SUCCESS) return std::nullopt;
    const auto name = find<std::string_view>(entry, "tensorname");
    const auto start = find<std::uint64_t>(entry, "start_idx");
    const auto length = find<std::uint64_t>(entry, "length");
    std::uint64_t end = 0;
    if (!name || !start || !length ||
        __builtin_add_overflow(*start, *length, &end)) {
      return std::nullopt;
    }
    return IndexedTensor{std::string(*name), *start, *length, std::nullopt};
  }

  void parse_shapes(const array& shapes) {
    std::size_t position = 0;
    for (const element item : shapes) {
      if (auto shape = read_shape_entry(item)) {
        file_.shapes.push_back(std::move(*shape));
      } else {
        report(fmt::format("shape_payload[{}] is not a shape", position));
      }
      ++position;
    }
  }

  static std::optional<IndexedShape> read_shape_entry(element json) {
    object entry;
    element extents;
    if (json.get(entry) != simdjson::SUCCESS ||
        entry["shape"].get(extents) != simdjson::SUCCESS) {
      return std::nullopt;
    }
    const auto name = find<std::string_view>(entry, "tensorname");
    auto shape = read_shape(extents);
    if (!name || !shape) return std::nullopt;
    const auto original =
        find<std::string_view>(entry, "originalname").value_or(*name);
    return IndexedShape{std::string(*name), std::string(original),
                        std::move(*shape)};
  }

  void parse_own_key(const object& own) {
    if (file_.event_file_key.empty()) {
      file_.absent_event_file_key =
          find<std::string_view>(own, "event_file_name").value_or("");
    }
    if (const auto dropped = find<object>(own, "dropped")) {
      file_.dropped_tensors =
          find<std::uint64_t>(*dropped, "tensors").value_or(0);
      file_.dropped_bytes = find<std::uint64_t>(*dropped, "bytes").value_or(0);
    }
    if (const auto status = parse_checksums(own); !status) {
      report("checksums: " + status.error().message);
    }
    if (const auto status = parse_statistics(own); !status) {
      report("statistics: " + status.error().message);
    } else if (const auto shards = find<array>(own, "shards")) {
      parse_shards(*shards);
    }
  }

  // There is one checksum per entry of tensor_payload, including invalid ones.
  Status parse_checksums(const object& own) {
    SMD_TRY(const auto crcs, read_column<std::uint32_t>(own, "crc32c"));
    if (crcs.size() != tensor_entries_) {
      return corrupt(
          fmt::format("column 'crc32c' holds {} numbers for {} tensors",
                      crcs.size(), tensor_entries_));
    }
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      file_.tensors[i].payload_crc32c = crcs[positions_[i]];
    }
    return {};
  }

  Status parse_statistics(const object& own) {
    const auto names = find<array>(own, "name");
    const auto dtypes = find<array>(own, "dtype");
    const auto shapes = find<array>(own, "shape");
    const auto columns = find<object>(own, "statistics");
    if (!names || !dtypes || !shapes || !columns) {
      return corrupt("expected 'name', 'dtype', 'shape' and 'statistics'");
    }
    const std::size_t rows = names->size();
    if (dtypes->size() != rows || shapes->size() != rows || rows == kMaxRows) {
      return corrupt(fmt::format("{} names, {} dtypes and {} shapes", rows,
                                 dtypes->size(), shapes->size()));
    }
    std::vector<TensorStatistics> statistics(rows);
    if (parts_ == IndexParts::everything) {
      SMD_TRY(statistics, read_rows(*columns, rows));
    }
    auto dtype = dtypes->begin();
    auto shape = shapes->begin();
    std::size_t row = 0;
    for (const element name : *names) {
      add_statistics(name, *dtype, *shape, statistics[row], row);
      ++dtype, ++shape, ++row;
    }
    return {};
  }

  static Result<std::vector<TensorStatistics>> read_rows(const object& columns,
                                                         std::size_t rows) {
    std::vector<TensorStatistics> statistics;
    const auto fill = [&]<typename T>(std::string_view name,
                                      T TensorStatistics::*member) -> Status {
      SMD_TRY(const auto column, read_column<T>(columns, name));
      if (column.size() != rows) {
        return corrupt(fmt::format("column '{}' holds {} numbers for {} names",
                                   name, column.size(), rows));
      }
      statistics.resize(rows);
      for (std::size_t i = 0; i < rows; ++i) statistics[i].*member = column[i];
      return {};
    };
    for (const auto& column : kCountColumns) {
      SMD_CHECK_OK(fill(column.name, column.member));
    }
    for (const auto& column : kMomentColumns) {
      SMD_CHECK_OK(fill(column.name, column.member));
    }
    return statistics;
  }

  void add_statistics(element name, element dtype, element shape,
                      const TensorStatistics& statistics, std::size_t row) {
    std::string_view name_text, dtype_text;
    if (name.get(name_text) == simdjson::SUCCESS &&
        dtype.get(dtype_text) == simdjson::SUCCESS) {
      const auto known_dtype = find_dtype(dtype_text);
      auto extents = read_shape(shape);
      if (known_dtype && extents && counts_add_up(statistics)) {
        file_.statistics.push_back({std::string(name_text),
                                    *known_dtype,
                                    std::move(*extents),
                                    statistics,
                                    {}});
        rows_.push_back(row);
        return;
      }
    }
    report(fmt::format("the statistics of row {} are not valid", row));
  }

  // There is one entry per row of statistics, including invalid ones.
  void parse_shards(const array& shards) {
    std::vector<element> entries(shards.begin(), shards.end());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      IndexedStatistics& row = file_.statistics[i];
      if (rows_[i] >= entries.size()) {
        report(fmt::format("shards has no entry for row {}", rows_[i]));
      } else if (!entries[rows_[i]].is_null()) {
        row.placement = read_placement(entries[rows_[i]]);
        if (row.placement && row.placement->holds(row.shape)) continue;
        row.placement.reset();
        report(fmt::format("shards[{}] is not a placement of that shape",
                           rows_[i]));
      }
    }
  }

  static std::optional<ShardPlacement> read_placement(element json) {
    object entry;
    element global_shape, offsets;
    if (json.get(entry) != simdjson::SUCCESS ||
        entry["global_shape"].get(global_shape) != simdjson::SUCCESS ||
        entry["offsets"].get(offsets) != simdjson::SUCCESS) {
      return std::nullopt;
    }
    auto extents = read_shape(global_shape);
    auto starts = read_integers(offsets);
    if (!extents || !starts) return std::nullopt;
    return ShardPlacement{std::move(*extents), std::move(*starts)};
  }

  void drop_tensors_without_event_file() {
    if (file_.tensors.empty() || !file_.event_file_key.empty()) return;
    report(fmt::format("no 'event_file_name' for {} tensors",
                       file_.tensors.size()));
    file_.tensors.clear();
  }

  object root_;
  IndexParts parts_;
  IndexFile file_;
  std::size_t tensor_entries_ = 0;
  // The position of each of `file_.tensors` in tensor_payload.
  std::vector<std::size_t> positions_;
  // The row of each of `file_.statistics`.
  std::vector<std::size_t> rows_;
};

}  // namespace

Result<IndexFile> parse_index_file(std::string_view text, IndexParts parts) {
  if (text.empty()) return corrupt("expected JSON, found nothing");
  if (text.size() > kMaxIndexFileBytes) {
    return corrupt(fmt::format("{} bytes exceed the limit of {} bytes",
                               text.size(), kMaxIndexFileBytes));
  }
  simdjson::dom::parser parser;
  element document;
  const auto error = parser.parse(text.data(), text.size()).get(document);
  if (error != simdjson::SUCCESS) {
    return corrupt(error == simdjson::CAPACITY || error == simdjson::MEMALLOC
                       ? simdjson::error_message(error)
                       : "not JSON, or only a part of it");
  }
  object root;
  if (document.get(root) != simdjson::SUCCESS) {
    return corrupt("expected a JSON object");
  }
  return IndexParser(root, parts).parse();
}

}  // namespace smdebug
