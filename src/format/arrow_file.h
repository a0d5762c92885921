#pragma once

// Tables as files of Apache Arrow ("Arrow IPC file", also called Feather), as
// far as smdebug writes them: one batch of columns that are numbers or
// dictionary-encoded text, without compression. pyarrow, polars and DuckDB read
// them. `parse_arrow_file` reads only files that `write_arrow_file` wrote, and
// finds every byte of their content that has changed.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

enum class ArrowType : std::uint8_t { int64, uint64, uint32, float64, text };

// Returns the size of one value in the column: text is a number of 4 bytes, the
// position in the dictionary.
constexpr std::size_t value_bytes(ArrowType type) {
  return type == ArrowType::uint32 || type == ArrowType::text ? 4 : 8;
}

// One column that is being filled.
class ArrowColumn {
 public:
  ArrowColumn(std::string name, ArrowType type)
      : name_(std::move(name)), type_(type) {}

  // `T` must be the type of the column.
  template <typename T>
  void add(T value) {
    append(&value, sizeof value, true);
  }
  void add_text(std::string_view text);
  void add_null();

  const std::string& name() const { return name_; }
  ArrowType type() const { return type_; }
  std::size_t rows() const { return rows_; }
  std::size_t null_count() const { return null_count_; }
  // The columns' buffers, as Arrow lays them out. A bit of `validity` is 0 for
  // a null; text is a dictionary and the positions of the rows in it.
  const std::string& values() const { return values_; }
  const std::string& validity() const { return validity_; }
  const std::string& dictionary_text() const { return dictionary_text_; }
  const std::vector<std::int32_t>& dictionary_offsets() const {
    return dictionary_offsets_;
  }
  // Grows with the rows and the dictionary.
  std::size_t bytes() const { return values_.size() + dictionary_text_.size(); }

 private:
  void append(const void* value, std::size_t size, bool is_valid);

  std::string name_;
  ArrowType type_;
  std::size_t rows_ = 0;
  std::size_t null_count_ = 0;
  std::string values_;
  std::string validity_;
  std::unordered_map<std::string, std::int32_t> dictionary_;
  std::string dictionary_text_;
  std::vector<std::int32_t> dictionary_offsets_ = {0};
};

// Returns the file. All columns must have the same number of rows. `metadata`
// describes the table: programs show it, none needs it.
std::string write_arrow_file(
    std::span<const ArrowColumn> columns,
    std::span<const std::pair<std::string, std::string>> metadata);

// One column of a file: a view into its bytes.
class ArrowColumnView {
 public:
  const std::string& name() const { return name_; }
  ArrowType type() const { return type_; }
  bool is_null(std::size_t row) const {
    return validity_ != nullptr &&
           (static_cast<unsigned>(validity_[row / 8]) >> (row % 8) & 1) == 0;
  }
  // The value is 0 if it is null. `T` must be the type of the column.
  template <typename T>
  T value(std::size_t row) const {
    T value;
    std::memcpy(&value, values_ + row * sizeof value, sizeof value);
    return value;
  }
  template <typename T>
  std::optional<T> find(std::size_t row) const {
    if (is_null(row)) return std::nullopt;
    return value<T>(row);
  }
  // Returns an empty text if it is null.
  std::string_view text(std::size_t row) const {
    return is_null(row) ? std::string_view() : dictionary_[code(row)];
  }
  // The position of the text in the dictionary.
  std::size_t code(std::size_t row) const {
    return static_cast<std::size_t>(value<std::int32_t>(row));
  }
  const std::vector<std::string_view>& dictionary() const {
    return dictionary_;
  }

 private:
  friend class ArrowParser;

  std::string name_;
  ArrowType type_ = ArrowType::int64;
  const std::byte* validity_ = nullptr;  // null: no value is null
  const std::byte* values_ = nullptr;
  std::vector<std::string_view> dictionary_;
};

class ArrowFile {
 public:
  std::size_t rows() const { return rows_; }
  // Returns null if there is no such column of this type.
  const ArrowColumnView* find(std::string_view name, ArrowType type) const;

 private:
  friend class ArrowParser;

  std::size_t rows_ = 0;
  std::vector<ArrowColumnView> columns_;
};

// Parses a file, which must outlive the result. Fails with `corrupt` if its
// content differs from what was written, and for files of other programs.
Result<ArrowFile> parse_arrow_file(std::span<const std::byte> bytes);

}  // namespace smdebug
