#include <charconv>

#include "base/crc32c.h"
#include "format/protobuf_fields.h"
#include "format/tensor_record.h"

namespace smdebug {
namespace {

// Protobuf keys: field number << 3 | wire type. The messages are those of
// docs/format.md "Event files".
enum Key : char {
  kValueTensor = 0x42,
  kValueMetadata = 0x4a,
  kMetadataPlugin = 0x0a,
  kPluginName = 0x0a,
  kPluginContent = 0x12,
  kTensorDType = 0x08,
  kTensorShape = 0x12,
  kTensorContent = 0x22,
  kTensorString = 0x42,
  kShapeDim = 0x12,
  kDimSize = 0x08,
  kDimName = 0x12,
};

std::string encode_shape(std::string_view tag,
                         std::span<const std::int64_t> shape) {
  std::string dims, dim, name;
  for (const std::int64_t extent : shape) {
    dim.clear();
    if (extent != 0) {
      dim.push_back(kDimSize);
      append_varint(static_cast<std::uint64_t>(extent), dim);
    }
    name.assign(tag).append("_").append(std::to_string(extent));
    append_field(kDimName, name, dim);
    append_field(kShapeDim, dim, dims);
  }
  return dims;
}

// Encodes a TensorProto without its elements.
std::string encode_tensor_head(std::string_view tag, std::uint32_t number,
                               std::span<const std::int64_t> shape) {
  std::string head;
  if (number != 0) {
    head.push_back(kTensorDType);
    append_varint(number, head);
  }
  append_field(kTensorShape, encode_shape(tag, shape), head);
  return head;
}

// Encodes a Value up to its elements. `elements_bytes` is their size, including
// field heads that are not part of `tensor_head`.
std::string encode_value_head(std::string_view tag,
                              std::string_view tensor_head,
                              std::uint64_t elements_bytes) {
  std::string head;
  append_field(kValueTag, tag, head);
  append_field_head(kValueTensor, tensor_head.size() + elements_bytes, head);
  head.append(tensor_head);
  return head;
}

// The metadata of a Value: its mode and mode step, as two plugins.
constexpr std::string_view kModeStepName = "mode_step";
constexpr std::string_view kModeName = "mode";
constexpr std::size_t kModePluginBytes = 2 + kModeName.size() + 3;

std::size_t mode_step_plugin_bytes(std::string_view text) {
  return 2 + kModeStepName.size() + 2 + text.size();
}

std::size_t metadata_bytes(std::string_view mode_step_text) {
  return 2 + mode_step_plugin_bytes(mode_step_text) + 2 + kModePluginBytes;
}

void append_metadata(const RecordStamp& stamp, std::string& out) {
  const std::string_view text = stamp.mode_step_text;
  const char mode = static_cast<char>('0' + static_cast<int>(stamp.step.mode));
  append_field_head(kValueMetadata, metadata_bytes(text), out);
  append_field_head(kMetadataPlugin, mode_step_plugin_bytes(text), out);
  append_field(kPluginName, kModeStepName, out);
  append_field(kPluginContent, text, out);
  append_field_head(kMetadataPlugin, kModePluginBytes, out);
  append_field(kPluginName, kModeName, out);
  append_field(kPluginContent, {&mode, 1}, out);
}

// Appends the framing and the message up to the Value. Returns the size of the
// whole record.
std::uint64_t append_event_head(const RecordStamp& stamp,
                                std::uint64_t value_bytes, std::string& out) {
  const auto step = static_cast<std::uint64_t>(stamp.step.global);
  const std::uint64_t summary_bytes = field_bytes(value_bytes);
  const std::uint64_t event_bytes = (stamp.wall_seconds != 0 ? 9 : 0) +
                                    (step != 0 ? 1 + varint_bytes(step) : 0) +
                                    field_bytes(summary_bytes);
  const auto length = std::as_bytes(std::span(&event_bytes, 1));
  append_number(event_bytes, out);
  append_number(mask_crc32c(crc32c(length)), out);
  if (stamp.wall_seconds != 0) {
    out.push_back(kEventWallTime);
    append_number(stamp.wall_seconds, out);
  }
  if (step != 0) {
    out.push_back(kEventStep);
    append_varint(step, out);
  }
  append_field_head(kEventSummary, summary_bytes, out);
  append_field_head(kSummaryValue, value_bytes, out);
  return kRecordHeadBytes + event_bytes + kRecordTailBytes;
}

}  // namespace

std::string_view format_mode_step(Step mode_step, std::span<char, 24> buffer) {
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), mode_step);
  return {buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data())};
}

TensorRecordEncoder::TensorRecordEncoder(std::string_view tag, DType dtype,
                                         std::span<const std::int64_t> shape)
    : TensorRecordEncoder(tag, dtype, shape, smdebug::dtype_number(dtype)) {}

TensorRecordEncoder::TensorRecordEncoder(std::string_view tag, DType dtype,
                                         std::span<const std::int64_t> shape,
                                         std::uint32_t dtype_number)
    : payload_bytes_(static_cast<std::uint64_t>(element_count(shape)) *
                     dtype_bytes(dtype)) {
  std::string tensor_head = encode_tensor_head(tag, dtype_number, shape);
  // An empty field is left out.
  if (payload_bytes_ != 0) {
    append_field_head(kTensorContent, payload_bytes_, tensor_head);
  }
  value_head_ = encode_value_head(tag, tensor_head, payload_bytes_);
}

TensorRecordEncoder TensorRecordEncoder::of_strings(
    std::string_view tag, DType dtype, std::span<const std::int64_t> shape,
    std::uint64_t payload_bytes) {
  return {encode_value_head(tag,
                            encode_tensor_head(tag, dtype_number(dtype), shape),
                            payload_bytes),
          payload_bytes};
}

std::uint64_t TensorRecordEncoder::encode(const RecordStamp& stamp,
                                          std::string& head,
                                          std::string& tail) const {
  const std::uint64_t value_bytes =
      value_head_.size() + payload_bytes_ +
      field_bytes(metadata_bytes(stamp.mode_step_text));
  const std::uint64_t record_bytes =
      append_event_head(stamp, value_bytes, head);
  head.append(value_head_);
  append_metadata(stamp, tail);
  append_number(kConstantPayloadWord, tail);
  return record_bytes;
}

void set_true_checksum(std::span<char> tail, std::uint32_t head_crc) {
  const std::size_t end = tail.size() - kRecordTailBytes;
  const std::uint32_t word =
      mask_crc32c(crc32c(std::as_bytes(tail.first(end)), head_crc));
  std::memcpy(tail.data() + end, &word, sizeof(word));
}

void append_tensor_record(std::string_view tag, DType dtype,
                          std::span<const std::int64_t> shape,
                          std::span<const std::byte> payload,
                          std::span<const std::string> strings,
                          const RecordStamp& stamp, std::string& out) {
  std::string elements;
  for (const std::string& text : strings) {
    append_field(kTensorString, text, elements);
  }
  if (!payload.empty()) {
    append_field_head(kTensorContent, payload.size(), elements);
    elements.append(reinterpret_cast<const char*>(payload.data()),
                    payload.size());
  }
  const std::string value_head = encode_value_head(
      tag, encode_tensor_head(tag, dtype_number(dtype), shape),
      elements.size());
  append_event_head(stamp,
                    value_head.size() + elements.size() +
                        field_bytes(metadata_bytes(stamp.mode_step_text)),
                    out);
  out.append(value_head).append(elements);
  append_metadata(stamp, out);
  append_number(kConstantPayloadWord, out);
}

}  // namespace smdebug
