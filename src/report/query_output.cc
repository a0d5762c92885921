#include "smdebug/report/query_output.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "report/text_table.h"

namespace smdebug {
namespace {

template <typename OfReal>
std::string value_text(const QueryValue& value, const OfReal& of_real) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) return of_real(*real);
  const auto* text = std::get_if<std::string>(&value);
  return text ? *text : "";
}

class TextOutput : public QuerySink {
 public:
  explicit TextOutput(std::ostream& out) : out_(out) {}

  void begin(std::span<const QueryColumn> columns) override {
    columns_.assign(columns.begin(), columns.end());
    is_text_.resize(columns.size());
  }

  void row(std::span<const QueryValue> values) override {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (std::holds_alternative<std::string>(values[i])) is_text_[i] = true;
      cells.push_back(value_text(
          values[i], [](double real) { return fmt::format("{:.6g}", real); }));
    }
    rows_.push_back(std::move(cells));
  }

  void end() override {
    std::vector<std::string> headings;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      headings.push_back((is_text_[i] ? "" : ">") + columns_[i].name);
    }
    TextTable table(std::move(headings));
    for (auto& cells : rows_) table.add(std::move(cells));
    out_ << table.text();
  }

 private:
  std::ostream& out_;
  std::vector<QueryColumn> columns_;
  std::vector<bool> is_text_;
  std::vector<std::vector<std::string>> rows_;
};

Json json_of(const QueryValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return nullptr;
}

class JsonOutput : public QuerySink {
 public:
  explicit JsonOutput(std::ostream& out) : out_(out) {}

  void begin(std::span<const QueryColumn> columns) override {
    columns_.assign(columns.begin(), columns.end());
    out_ << "[";
  }

  void row(std::span<const QueryValue> values) override {
    Json::Object object;
    for (std::size_t i = 0; i < values.size(); ++i) {
      object.push_back({columns_[i].name, json_of(values[i])});
    }
    out_ << (has_rows_ ? ",\n " : "\n ")
         << Json(std::move(object)).dump(JsonStyle::spaced);
    has_rows_ = true;
  }

  void end() override { out_ << (has_rows_ ? "\n]\n" : "]\n"); }

 private:
  std::ostream& out_;
  std::vector<QueryColumn> columns_;
  bool has_rows_ = false;
};

std::string csv_field(std::string text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  for (auto at = text.find('"'); at != text.npos; at = text.find('"', at + 2)) {
    text.insert(at, 1, '"');
  }
  return '"' + text + '"';
}

class CsvOutput : public QuerySink {
 public:
  explicit CsvOutput(std::ostream& out) : out_(out) {}

  void begin(std::span<const QueryColumn> columns) override {
    std::string line;
    for (const QueryColumn& column : columns) {
      line += (line.empty() ? "" : ",") + csv_field(column.name);
    }
    out_ << line << "\n";
  }

  void row(std::span<const QueryValue> values) override {
    std::string line;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) line += ',';
      line += csv_field(value_text(
          values[i], [](double real) { return fmt::format("{}", real); }));
    }
    out_ << line << "\n";
  }

 private:
  std::ostream& out_;
};

}  // namespace

std::unique_ptr<QuerySink> query_text_output(std::ostream& out) {
  return std::make_unique<TextOutput>(out);
}
std::unique_ptr<QuerySink> query_json_output(std::ostream& out) {
  return std::make_unique<JsonOutput>(out);
}
std::unique_ptr<QuerySink> query_csv_output(std::ostream& out) {
  return std::make_unique<CsvOutput>(out);
}

}  // namespace smdebug
