#include <charconv>
#include <map>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/tensor_view.h"

#include "format/statistics_file.h"
#include "format/statistics_file_columns.h"

namespace smdebug {

using namespace statistics_file;

namespace {

Error bad_statistics(std::string_view what) {
  return {Error::Code::corrupt, fmt::format("statistics file: {}", what)};
}

// Returns the numbers of "64,10"; none for other text.
std::optional<std::vector<std::int64_t>> parse_numbers(std::string_view text) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(at, end, number);
    if (parsed.ec != std::errc() || (parsed.ptr != end && *parsed.ptr != ',')) {
      return std::nullopt;
    }
    numbers.push_back(number);
    at = parsed.ptr == end ? end : parsed.ptr + 1;
  }
  return numbers;
}

// Checks each text of a dictionary once, rather than each row.
template <typename Parse>
Status check_texts(const ArrowColumnView& column, std::string_view name,
                   const Parse& parse) {
  for (const std::string_view text : column.dictionary()) {
    if (!parse(text)) {
      return bad_statistics(fmt::format("column '{}' has '{}'", name, text));
    }
  }
  return {};
}

bool is_shape(std::string_view text) {
  const auto shape = parse_numbers(text);
  return shape && checked_element_count(*shape);
}

}  // namespace

Result<StatisticsFile> parse_statistics_file(std::span<const std::byte> bytes) {
  StatisticsFile file;
  SMD_TRY(file.table_, parse_arrow_file(bytes));
  const auto add_column = [&](std::string_view name, ArrowType type) -> Status {
    const ArrowColumnView* column = file.table_.find(name, type);
    if (column == nullptr)
      return bad_statistics(fmt::format("no column '{}'", name));
    file.columns_.push_back(column);
    return {};
  };
  for (const NamedColumn& column : kNames) {
    SMD_CHECK_OK(add_column(column.name, column.type));
  }
  for (const CountColumn& column : kCountColumns) {
    SMD_CHECK_OK(add_column(column.name, ArrowType::uint64));
  }
  for (const MomentColumn& column : kMomentColumns) {
    SMD_CHECK_OK(add_column(column.name, ArrowType::float64));
  }
  const auto check = [&](Column column, const auto& parse) {
    return check_texts(*file.columns_[column], kNames[column].name, parse);
  };
  SMD_CHECK_OK(check(kMode, find_mode));
  SMD_CHECK_OK(check(kDType, find_dtype));
  SMD_CHECK_OK(check(kReduction, find_reduction_op));
  SMD_CHECK_OK(check(kShape, is_shape));
  SMD_CHECK_OK(check(kGlobalShape, is_shape));
  SMD_CHECK_OK(check(kOffsets, parse_numbers));
  for (std::size_t row = 0; row < file.table_.rows(); ++row) {
    const auto step = file.columns_[kStep]->value<std::int64_t>(row);
    if (!file.steps_.empty() && file.steps_.back().name.step == step) {
      file.steps_.back().end = row + 1;
      continue;
    }
    if (!file.steps_.empty() && file.steps_.back().name.step > step) {
      return bad_statistics("its steps are not in order");
    }
    if (file.columns_[kMode]->is_null(row))
      return bad_statistics("a row has no mode");
    file.steps_.push_back(
        {{step, std::string(file.columns_[kWorker]->text(row))},
         file.columns_[kIndexBytes]->value<std::uint64_t>(row),
         row,
         row + 1});
  }
  return file;
}

TensorStatistics StatisticsFile::statistics(std::size_t row) const {
  TensorStatistics statistics;
  for (std::size_t i = 0; i < kCountColumns.size(); ++i) {
    statistics.*kCountColumns[i].member =
        columns_[kFirstCount + i]->value<std::uint64_t>(row);
  }
  for (std::size_t i = 0; i < kMomentColumns.size(); ++i) {
    statistics.*kMomentColumns[i].member =
        columns_[kFirstMoment + i]->value<double>(row);
  }
  return statistics;
}

std::optional<ShardPlacement> StatisticsFile::placement(std::size_t row) const {
  if (columns_[kOffsets]->is_null(row)) return std::nullopt;
  return ShardPlacement{shape_of_text(columns_[kGlobalShape]->text(row)),
                        shape_of_text(columns_[kOffsets]->text(row))};
}

std::vector<std::int64_t> shape_of_text(std::string_view text) {
  return parse_numbers(text).value_or(std::vector<std::int64_t>());
}

}  // namespace smdebug
