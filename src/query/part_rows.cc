#include "query/part_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "smdebug/core/dtype.h"

#include "format/statistics_file_columns.h"

namespace smdebug {
namespace {

namespace file = statistics_file;
namespace table = statistics_table;
using query_table::number_of;

// In the order of kCountColumns and kMomentColumns.
enum class Count { all, nan, positive_inf, negative_inf, zeros };
enum class Moment { min, max, mean, m2, sum_abs, sum_squares };

// One row of a part.
class PartRow {
 public:
  PartRow(const StatisticsPart& part, std::size_t row)
      : part_(part), row_(row) {}

  std::int64_t count(Count which) const {
    return static_cast<std::int64_t>(
        column(file::kFirstCount + static_cast<std::size_t>(which))
            .value<std::uint64_t>(row_));
  }
  double moment(Moment which) const {
    return column(file::kFirstMoment + static_cast<std::size_t>(which))
        .value<double>(row_);
  }
  std::int64_t finite() const {
    return count(Count::all) - count(Count::nan) - count(Count::positive_inf) -
           count(Count::negative_inf);
  }
  // Without a finite element there is none.
  Cell moment_of_finite(Moment which) const {
    if (finite() == 0) return {};
    return moment(which);
  }
  Cell text(file::Column number) const {
    if (column(number).is_null(row_)) return {};
    return column(number).text(row_);
  }
  std::int64_t integer(file::Column number) const {
    return column(number).value<std::int64_t>(row_);
  }
  std::size_t code(file::Column number) const {
    return column(number).code(row_);
  }
  double l2() const { return std::sqrt(moment(Moment::sum_squares)); }
  double standard_deviation() const {
    return std::sqrt(moment(Moment::m2) / static_cast<double>(finite()));
  }

 private:
  const ArrowColumnView& column(std::size_t number) const {
    return part_.file.column(number);
  }

  const StatisticsPart& part_;
  std::size_t row_;
};

// Whether the conditions on a column may hold for its cell.
bool admits_number(const RowFilter& filter, std::size_t column,
                   const Cell& cell) {
  if (const auto* integer = std::get_if<std::int64_t>(&cell)) {
    return filter.admits(column, static_cast<double>(*integer));
  }
  if (const auto* real = std::get_if<double>(&cell)) {
    return filter.admits(column, *real);
  }
  // No comparison holds for NULL.
  return !std::holds_alternative<std::monostate>(cell);
}

}  // namespace

std::optional<double> l2_norm(const StatisticsPart& part, std::size_t row) {
  if (part.file.column(file::kTensor).is_null(row) ||
      part.file.column(file::kDType).is_null(row)) {
    return std::nullopt;
  }
  return PartRow(part, row).l2();
}

PartRows::PartRows(StatisticsPart part, std::string_view run,
                   const Collections& collections, L2Medians::OfPart medians,
                   const RowFilter& filter)
    : part_(std::move(part)), run_(run), medians_(std::move(medians)) {
  read_dictionaries(collections);
  find_rows(filter);
}

void PartRows::read_dictionaries(const Collections& collections) {
  for (const std::string_view text : column(file::kDType).dictionary()) {
    const DType dtype = *find_dtype(text);
    dtype_bytes_.push_back(is_string(dtype) ? 0 : dtype_bytes(dtype));
  }
  for (const std::string_view tensor : column(file::kTensor).dictionary()) {
    const auto found = collections.find(tensor);
    collections_.push_back(found == collections.end()
                               ? std::string_view()
                               : std::string_view(found->second));
  }
}

// Texts are compared once for each of the dictionary.
std::vector<PartRows::AdmittedTexts> PartRows::admitted_texts(
    const RowFilter& filter) const {
  std::vector<AdmittedTexts> admitted;
  const auto add = [&](file::Column number, table::Column its,
                       const std::vector<std::string_view>& texts) {
    std::vector<bool> codes;
    for (const std::string_view text : texts) {
      codes.push_back(filter.admits(number_of(its), text));
    }
    if (!std::ranges::all_of(codes, std::identity())) {
      admitted.push_back({number, std::move(codes)});
    }
  };
  const auto add_column = [&](file::Column number, table::Column its) {
    add(number, its, column(number).dictionary());
  };
  add_column(file::kTensor, table::kTensor);
  add_column(file::kMode, table::kMode);
  add_column(file::kWorker, table::kWorker);
  add_column(file::kShape, table::kShape);
  add_column(file::kDType, table::kDType);
  add(file::kTensor, table::kCollection, collections_);
  return admitted;
}

void PartRows::find_rows(const RowFilter& filter) {
  const auto texts = admitted_texts(filter);
  std::vector<std::size_t> numbers = filter.number_columns();
  std::erase(numbers, number_of(table::kStep));  // checked for each step
  const auto admits = [&](std::size_t row) {
    if (!has_numbers(row)) return false;
    for (const auto& [number, codes] : texts) {
      const ArrowColumnView& text = column(number);
      if (text.is_null(row) || !codes[text.code(row)]) return false;
    }
    return std::ranges::all_of(numbers, [&](std::size_t number) {
      return admits_number(filter, number, cell_at(row, number));
    });
  };
  for (const auto& step : part_.steps) {
    if (!filter.admits(number_of(table::kStep),
                       static_cast<double>(step.name.step))) {
      continue;
    }
    for (std::size_t row = step.first; row < step.end; ++row) {
      if (admits(row)) rows_.push_back(static_cast<std::uint32_t>(row));
    }
  }
}

bool PartRows::has_numbers(std::size_t row) const {
  const ArrowColumnView& dtype = column(file::kDType);
  return !column(file::kTensor).is_null(row) && !dtype.is_null(row) &&
         dtype_bytes_[dtype.code(row)] != 0;
}

Cell PartRows::over_median(std::size_t row) const {
  const PartRow its(part_, row);
  if (medians_.empty() || column(file::kMode).is_null(row)) return {};
  const auto median = medians_[its.code(file::kTensor)][its.code(file::kMode)];
  if (!median || *median == 0) return {};
  const double ratio = its.l2() / *median;
  return std::isnan(ratio) ? Cell() : Cell(ratio);
}

Cell PartRows::cell_at(std::size_t row, std::size_t number) const {
  const PartRow its(part_, row);
  if (number == kRunColumn) return run_;
  if (number == query_table::kL2OverMedian) return over_median(row);
  switch (
      static_cast<table::Column>(number - query_table::kFirstOfStatistics)) {
    case table::kTensor:
      return its.text(file::kTensor);
    case table::kCollection: {
      const std::string_view name = collections_[its.code(file::kTensor)];
      return name.empty() ? Cell() : Cell(name);
    }
    case table::kStep:
      return its.integer(file::kStep);
    case table::kMode:
      return its.text(file::kMode);
    case table::kModeStep:
      return its.integer(file::kModeStep);
    case table::kWorker:
      return its.text(file::kWorker);
    case table::kDType:
      return its.text(file::kDType);
    case table::kShape:
      return its.text(file::kShape);
    case table::kBytes:
      return its.count(Count::all) *
             static_cast<std::int64_t>(dtype_bytes_[its.code(file::kDType)]);
    case table::kCount:
      return its.count(Count::all);
    case table::kNan:
      return its.count(Count::nan);
    case table::kPositiveInf:
      return its.count(Count::positive_inf);
    case table::kNegativeInf:
      return its.count(Count::negative_inf);
    case table::kZeros:
      return its.count(Count::zeros);
    case table::kMin:
      return its.moment_of_finite(Moment::min);
    case table::kMax:
      return its.moment_of_finite(Moment::max);
    case table::kMean:
      return its.moment_of_finite(Moment::mean);
    case table::kStd:
      if (its.finite() == 0) return {};
      return its.standard_deviation();
    case table::kL1:
      return its.moment(Moment::sum_abs);
    case table::kL2:
      return its.l2();
    case table::kColumns:
      break;
  }
  return {};
}

}  // namespace smdebug
