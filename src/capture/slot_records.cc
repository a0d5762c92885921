#include "capture/slot_records.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "format/index_file.h"
#include "format/reduction_tag.h"
#include "format/tensorboard_record.h"

namespace smdebug {
namespace {

constexpr std::size_t kShapesKept = 4;

// The double was rounded to float before. This may round twice, but the result
// is the one of torch, which converts in the same two steps.
std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const float size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (size >= 65520.0f) return sign | 0x7c00;  // above the largest, rounded
  if (size < 0x1p-14f) {                       // subnormal: a multiple of 2^-24
    return sign | static_cast<std::uint16_t>(std::nearbyint(size * 0x1p24f));
  }
  std::uint32_t rounded = std::bit_cast<std::uint32_t>(size);
  rounded += 0xfff + (rounded >> 13 & 1);
  // From an exponent bias of 127 to one of 15.
  return sign | static_cast<std::uint16_t>((rounded >> 13) - (112u << 10));
}

template <typename T>
std::size_t store(T value, std::span<std::byte, 8> bytes) {
  std::memcpy(bytes.data(), &value, sizeof(value));
  return sizeof(value);
}

}  // namespace

DType reduced_dtype(DType dtype) {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
    case DType::float64:
      return dtype;
    case DType::complex64:
    case DType::float8_e4m3fn:
    case DType::float8_e5m2:
      return DType::float32;
    default:
      return DType::float64;
  }
}

std::size_t scalar_bytes(DType dtype, double value,
                         std::span<std::byte, 8> bytes) {
  switch (dtype) {
    case DType::float16:
      return store(float16_bits(static_cast<float>(value)), bytes);
    case DType::bfloat16:
      return store(bfloat16_bits(static_cast<float>(value)), bytes);
    case DType::float32:
      return store(static_cast<float>(value), bytes);
    default:
      return store(value, bytes);
  }
}

const TensorRecordEncoder& SlotRecords::raw(
    std::string_view name, DType dtype, std::span<const std::int64_t> shape) {
  for (std::size_t i = 0; i < raw_.size(); ++i) {
    RawRecord& record = *raw_[(newest_ + i) % raw_.size()];
    if (record.dtype == dtype && std::ranges::equal(record.shape, shape)) {
      newest_ = (newest_ + i) % raw_.size();
      return record.encoder;
    }
  }
  auto record = std::make_unique<RawRecord>(
      RawRecord{dtype,
                {shape.begin(), shape.end()},
                TensorRecordEncoder(name, dtype, shape)});
  if (raw_.size() < kShapesKept) {
    newest_ = raw_.size();
    raw_.push_back(std::move(record));
  } else {
    newest_ = (newest_ + 1) % kShapesKept;
    raw_[newest_] = std::move(record);
  }
  return raw_[newest_]->encoder;
}

const SlotRecords::ReductionRecord& SlotRecords::reduction(
    std::string_view name, ReductionOp op, DType dtype,
    const ReductionForm& form) {
  for (const auto& record : reductions_)
    if (record->op == op && record->dtype == dtype) return *record;
  constexpr std::array<std::int64_t, 1> kOne = {1};
  const std::string tag = reduction_tag(op, name, form.keeps_colon_digits);
  const std::span<const std::int64_t> shape =
      form.is_0d ? std::span<const std::int64_t>{} : kOne;
  reductions_.push_back(std::make_unique<ReductionRecord>(ReductionRecord{
      op, dtype, json_string(tag), TensorRecordEncoder(tag, dtype, shape)}));
  return *reductions_.back();
}

const std::string& SlotRecords::tensorboard_tag(std::string_view collection,
                                                std::string_view name) {
  for (const auto& [of_collection, tag] : tensorboard_tags_)
    if (of_collection == collection) return tag;
  std::string tag(collection);
  if (!tag.empty()) tag.push_back('/');
  tensorboard_tags_.emplace_back(collection, clean_tag(tag.append(name)));
  return tensorboard_tags_.back().second;
}

const std::string& SlotRecords::json_name(std::string_view name) {
  if (json_name_.empty()) json_name_ = json_string(name);
  return json_name_;
}

}  // namespace smdebug
