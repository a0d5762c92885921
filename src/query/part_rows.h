#pragma once

// The rows of one part of a run for the table `statistics` of a query.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/l2_medians.h"
#include "query/table_rows.h"
#include "read/statistics_scan.h"
#include "read/statistics_table_columns.h"

namespace smdebug {

// The columns: the run, those of `statistics_table`, and `l2_over_median`.
namespace query_table {
inline constexpr std::size_t kFirstOfStatistics = kRunColumn + 1;
inline constexpr std::size_t kL2OverMedian =
    kFirstOfStatistics + statistics_table::kColumns;
inline constexpr std::size_t kColumns = kL2OverMedian + 1;

constexpr std::size_t number_of(statistics_table::Column column) {
  return kFirstOfStatistics + column;
}
}  // namespace query_table

// Returns the L2 norm of the finite elements of a row; none for a row without
// statistics of numbers.
std::optional<double> l2_norm(const StatisticsPart& part, std::size_t row);

class PartRows {
 public:
  using Collections = std::map<std::string, std::string, std::less<>>;

  // Finds the rows that `filter` admits. `run` and `collections` must outlive
  // it. `medians` are those of the part, empty if no column needs them.
  PartRows(StatisticsPart part, std::string_view run,
           const Collections& collections, L2Medians::OfPart medians,
           const RowFilter& filter);

  bool empty() const { return rows_.empty(); }
  // Moves to the first row, later to the next one; returns false at the end.
  bool next() { return ++place_ < rows_.size(); }
  Cell cell(std::size_t column) const { return cell_at(rows_[place_], column); }

 private:
  // The codes of a text column that the filter admits.
  struct AdmittedTexts {
    std::size_t column;
    std::vector<bool> codes;
  };

  const ArrowColumnView& column(std::size_t number) const {
    return part_.file.column(number);
  }
  void read_dictionaries(const Collections& collections);
  void find_rows(const RowFilter& filter);
  std::vector<AdmittedTexts> admitted_texts(const RowFilter& filter) const;
  bool has_numbers(std::size_t row) const;
  Cell cell_at(std::size_t row, std::size_t number) const;
  Cell over_median(std::size_t row) const;

  StatisticsPart part_;
  std::string_view run_;
  std::vector<std::size_t> dtype_bytes_;       // by code; 0: text
  std::vector<std::string_view> collections_;  // by the code of the tensor
  L2Medians::OfPart medians_;
  std::vector<std::uint32_t> rows_;
  std::size_t place_ = SIZE_MAX;  // in `rows_`; before the first one
};

}  // namespace smdebug
