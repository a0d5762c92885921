#pragma once

// Statistics files: what the index files of many steps of one worker contain,
// as one table (docs/format.md, "Statistics files"). A reader opens a run with
// a few of them instead of one request for each index file. They are an
// addition: the index files stay, and decide.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

#include "format/arrow_file.h"
#include "format/file_names.h"
#include "format/index_file.h"

namespace smdebug {

// A file ends at this many steps or bytes. The bytes bound the memory of its
// writer and of its readers, and a store takes them in one request.
inline constexpr std::uint64_t kStatisticsFileSteps = 1000;
inline constexpr std::size_t kStatisticsFileBytes = std::size_t{7} << 20;

// Fewer steps get no file at the end of a run: readers request 64 index files
// at once.
inline constexpr std::uint64_t kMinStatisticsFileSteps = 64;

// Builds one file. Its steps have one worker.
class StatisticsFileBuilder {
 public:
  explicit StatisticsFileBuilder(std::string worker);

  // Adds the index file of a step, which has `index_bytes` bytes. Steps come in
  // ascending order. An index file with damage must not be added: its readers
  // report the damage.
  void add(Step step, std::uint64_t index_bytes, const IndexFile& content);

  bool empty() const { return steps_ == 0; }
  std::uint64_t steps() const { return steps_; }
  Step first() const { return first_; }
  Step last() const { return last_; }
  // Whether the file is large enough to be finished.
  bool is_full() const;

  // Returns the file, and starts the next one.
  std::string finish();

 private:
  struct Row;
  void add_row(Step step, std::uint64_t index_bytes, const IndexFile& content,
               const Row& row);
  ArrowColumn& column(std::size_t i) { return columns_[i]; }
  std::size_t bytes() const;  // about the size of the file
  void clear();

  std::string worker_;
  std::vector<ArrowColumn> columns_;
  std::uint64_t steps_ = 0;
  Step first_ = 0, last_ = 0;
};

// A parsed file.
class StatisticsFile {
 public:
  struct StepRows {
    StepFileName name;
    std::uint64_t index_bytes = 0;
    std::size_t first = 0, end = 0;  // rows
  };

  // In ascending order of steps.
  const std::vector<StepRows>& steps() const { return steps_; }

  // A column, by its number in statistics_file_columns.h.
  const ArrowColumnView& column(std::size_t number) const {
    return *columns_[number];
  }

  // Of a row with a dtype: one with statistics. No placement: a whole tensor.
  TensorStatistics statistics(std::size_t row) const;
  std::optional<ShardPlacement> placement(std::size_t row) const;

 private:
  friend Result<StatisticsFile> parse_statistics_file(
      std::span<const std::byte> bytes);

  ArrowFile table_;
  std::vector<StepRows> steps_;
  std::vector<const ArrowColumnView*> columns_;
};

// Parses a file, whose bytes must outlive the result. Fails with `corrupt` if
// it is damaged or from another program.
Result<StatisticsFile> parse_statistics_file(std::span<const std::byte> bytes);

// Returns the numbers of a text in the column `shape`: {64, 10} of "64,10".
std::vector<std::int64_t> shape_of_text(std::string_view text);

}  // namespace smdebug
