#include "smdebug/query/arrow_output.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "format/arrow_file.h"

namespace smdebug {
namespace {

std::string text_of(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return fmt::format("{}", *real);
  }
  return std::get<std::string>(value);
}

double real_of(const QueryValue& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer ? static_cast<double>(*integer) : std::get<double>(value);
}

// One column. Its type is that of its values so far.
class TypedColumn {
 public:
  explicit TypedColumn(const QueryColumn& column)
      : name_(column.name), type_(column.type) {
    make();
  }

  void add(const QueryValue& value) {
    if (std::holds_alternative<std::monostate>(value))
      return column_->add_null();
    const QueryType needed = std::max(type_, type_of(value));
    if (needed != type_) change_type(needed);
    switch (type_) {
      case QueryType::integer:
        return column_->add(std::get<std::int64_t>(value));
      case QueryType::real:
        return column_->add(real_of(value));
      default:
        return column_->add_text(text_of(value));
    }
  }

  ArrowColumn take() { return *std::move(column_); }

 private:
  static QueryType type_of(const QueryValue& value) {
    if (std::holds_alternative<std::int64_t>(value)) return QueryType::integer;
    return std::holds_alternative<double>(value) ? QueryType::real
                                                 : QueryType::text;
  }

  void make() {
    column_.emplace(name_, type_ == QueryType::integer ? ArrowType::int64
                           : type_ == QueryType::text  ? ArrowType::text
                                                       : ArrowType::float64);
  }

  // Only columns of expressions change.
  void change_type(QueryType type) {
    const ArrowColumn before = *std::move(column_);
    const QueryType type_before = type_;
    type_ = type;
    make();
    for (std::size_t row = 0; row < before.rows(); ++row) {
      add(value_at(before, type_before, row));
    }
  }

  static QueryValue value_at(const ArrowColumn& column, QueryType type,
                             std::size_t row) {
    const auto bits = static_cast<unsigned char>(column.validity()[row / 8]);
    if ((bits >> (row % 8) & 1) == 0) return {};
    if (type == QueryType::integer) return number<std::int64_t>(column, row);
    return number<double>(column, row);
  }

  template <typename T>
  static T number(const ArrowColumn& column, std::size_t row) {
    T value;
    std::memcpy(&value, column.values().data() + row * sizeof value,
                sizeof value);
    return value;
  }

  std::string name_;
  QueryType type_;
  std::optional<ArrowColumn> column_;
};

class ArrowOutput : public QuerySink {
 public:
  explicit ArrowOutput(std::ostream& out) : out_(out) {}

  void begin(std::span<const QueryColumn> columns) override {
    for (const QueryColumn& column : columns) columns_.emplace_back(column);
  }

  void row(std::span<const QueryValue> values) override {
    for (std::size_t i = 0; i < values.size(); ++i) columns_[i].add(values[i]);
  }

  void end() override {
    std::vector<ArrowColumn> columns;
    for (TypedColumn& column : columns_) columns.push_back(column.take());
    out_ << write_arrow_file(columns, {});
  }

 private:
  std::ostream& out_;
  std::vector<TypedColumn> columns_;
};

}  // namespace

std::unique_ptr<QuerySink> query_arrow_output(std::ostream& out) {
  return std::make_unique<ArrowOutput>(out);
}

}  // namespace smdebug
