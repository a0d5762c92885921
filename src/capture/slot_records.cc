#include "capture/slot_records.h"

#include <algorithm>
#include <array>

#include "format/index_file.h"
#include "format/reduction_tag.h"
#include "format/tensorboard_record.h"

namespace smdebug {
namespace {

constexpr std::size_t kShapesKept = 4;

}  // namespace

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
