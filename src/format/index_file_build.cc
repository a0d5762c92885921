#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <functional>

#include "base/base64.h"
#include "base/json.h"
#include "format/index_file.h"
#include "format/statistics_columns.h"

namespace smdebug {
namespace {

static_assert(std::endian::native == std::endian::little,
              "columns hold little-endian numbers, copied as they are");

constexpr int kVersion = 1;

template <std::integral T>
void append_decimal(T value, std::string& out) {
  std::array<char, 24> digits;
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), static_cast<std::size_t>(end.ptr - digits.data()));
}

void append_shape(std::span<const std::int64_t> shape, std::string& out) {
  out.push_back('[');
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out.append(", ");
    append_decimal(shape[i], out);
  }
  out.push_back(']');
}

void start_element(std::string& array) {
  if (!array.empty()) array.append(", ");
}

}  // namespace

std::string json_string(std::string_view text) {
  return Json(text).dump(JsonStyle::spaced);
}

void IndexFileBuilder::clear() {
  for (std::string* part :
       {&tensors_, &shapes_, &names_, &dtypes_, &statistics_shapes_, &text_}) {
    part->clear();
  }
  statistics_.clear();
  placements_.clear();
  crcs_.clear();
  dropped_tensors_ = dropped_bytes_ = 0;
}

void IndexFileBuilder::add_tensor(std::string_view json_name,
                                  std::uint64_t start, std::uint64_t length,
                                  std::uint32_t payload_crc32c) {
  start_element(tensors_);
  tensors_.append("{\"tensorname\": ").append(json_name);
  tensors_.append(", \"start_idx\": ");
  append_decimal(start, tensors_);
  tensors_.append(", \"length\": ");
  append_decimal(length, tensors_);
  tensors_.push_back('}');
  crcs_.push_back(payload_crc32c);
}

void IndexFileBuilder::add_shape(std::string_view json_name,
                                 std::string_view json_original,
                                 std::span<const std::int64_t> shape) {
  start_element(shapes_);
  shapes_.append("{\"tensorname\": ").append(json_name);
  shapes_.append(", \"originalname\": ").append(json_original);
  shapes_.append(", \"shape\": ");
  append_shape(shape, shapes_);
  shapes_.push_back('}');
}

void IndexFileBuilder::add_statistics(std::string_view json_name, DType dtype,
                                      std::span<const std::int64_t> shape,
                                      const TensorStatistics& statistics,
                                      const ShardPlacement* placement) {
  start_element(names_);
  names_.append(json_name);
  start_element(dtypes_);
  dtypes_.append("\"").append(dtype_name(dtype)).append("\"");
  start_element(statistics_shapes_);
  append_shape(shape, statistics_shapes_);
  statistics_.push_back(statistics);
  placements_.push_back(placement);
}

void IndexFileBuilder::set_drops(std::uint64_t tensors, std::uint64_t bytes) {
  dropped_tensors_ = tensors;
  dropped_bytes_ = bytes;
}

bool IndexFileBuilder::empty() const {
  return crcs_.empty() && shapes_.empty() && statistics_.empty() &&
         dropped_tensors_ == 0;
}

std::string_view IndexFileBuilder::finish(Mode mode, Step mode_step,
                                          std::string_view event_file_key) {
  text_.assign("{\"meta\": {\"mode\": \"").append(mode_name(mode));
  text_.append("\", \"mode_step\": ");
  append_decimal(mode_step, text_);
  if (!crcs_.empty()) {
    text_.append(", \"event_file_name\": ").append(json_string(event_file_key));
  }
  text_.append("}, \"tensor_payload\": [").append(tensors_);
  text_.append("], \"shape_payload\": [").append(shapes_).append("]");
  if (!crcs_.empty() || !statistics_.empty() || dropped_tensors_ != 0) {
    append_own_key(event_file_key);
  }
  text_.push_back('}');
  return text_;
}

void IndexFileBuilder::append_own_key(std::string_view event_file_key) {
  text_.append(", \"smdebug\": {\"version\": ");
  append_decimal(kVersion, text_);
  if (crcs_.empty() && !event_file_key.empty()) {
    text_.append(", \"event_file_name\": ").append(json_string(event_file_key));
  }
  text_.append(", \"name\": [").append(names_);
  text_.append("], \"dtype\": [").append(dtypes_);
  text_.append("], \"shape\": [").append(statistics_shapes_);
  text_.append("], \"statistics\": {");
  append_statistics_columns();
  text_.append("}, \"crc32c\": \"");
  append_base64(std::as_bytes(std::span(crcs_)), text_);
  text_.push_back('"');
  if (std::ranges::any_of(placements_, std::identity())) append_shards();
  if (dropped_tensors_ != 0) {
    text_.append(", \"dropped\": {\"tensors\": ");
    append_decimal(dropped_tensors_, text_);
    text_.append(", \"bytes\": ");
    append_decimal(dropped_bytes_, text_);
    text_.push_back('}');
  }
  text_.push_back('}');
}

void IndexFileBuilder::append_statistics_columns() {
  const auto append_column = [this](std::string_view name, auto member) {
    column_.clear();
    for (const TensorStatistics& row : statistics_) {
      column_.push_back(std::bit_cast<std::uint64_t>(row.*member));
    }
    if (text_.back() != '{') text_.append(", ");
    text_.append("\"").append(name).append("\": \"");
    append_base64(std::as_bytes(std::span(column_)), text_);
    text_.push_back('"');
  };
  for (const auto& column : kCountColumns) {
    append_column(column.name, column.member);
  }
  for (const auto& column : kMomentColumns) {
    append_column(column.name, column.member);
  }
}

void IndexFileBuilder::append_shards() {
  text_.append(", \"shards\": [");
  for (std::size_t i = 0; i < placements_.size(); ++i) {
    if (i != 0) text_.append(", ");
    if (placements_[i] == nullptr) {
      text_.append("null");
      continue;
    }
    text_.append("{\"global_shape\": ");
    append_shape(placements_[i]->global_shape, text_);
    text_.append(", \"offsets\": ");
    append_shape(placements_[i]->offsets, text_);
    text_.push_back('}');
  }
  text_.push_back(']');
}

}  // namespace smdebug
