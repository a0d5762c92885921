#pragma once

// One tensor record of an event file (docs/format.md, "Event files"). A record
// is a head, the elements, and a tail. The encoder produces only head and tail,
// so that a tensor is never copied into a message. The parts that are the same
// at each step are encoded once.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/dtype.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/tensor_view.h"

namespace smdebug {

// The largest payload of a record: protobuf's 2 GiB less room for the head.
inline constexpr std::uint64_t kMaxPayloadBytes = (2ull << 30) - (64ull << 10);

// The most dimensions of a tensor.
inline constexpr std::size_t kMaxDims = 255;

// A record is a length word with its checksum, the message, and a checksum
// word for the message.
inline constexpr std::uint64_t kRecordHeadBytes = 12;
inline constexpr std::uint64_t kRecordTailBytes = 4;

// The constant in place of the message's checksum: the masked CRC-32C of the
// text "0x12345678". The original's Trial accepts no other value.
inline constexpr std::uint32_t kConstantPayloadWord = 0x062dc0b3;

// Returns the number of `dtype` on disk, TensorFlow's `DataType`: 0 for
// `string`, as the original writes it, and DT_STRING for `bytes`
// (dtype_number.cc).
std::uint32_t dtype_number(DType dtype);

// Returns the number of the quantized type that is stored as `dtype`, if any.
// TensorFlow's qint32 and quint16 are written as plain integers.
std::optional<std::uint32_t> quantized_dtype_number(DType dtype);

// Returns the dtype of a number, if any. Quantized types are read as the
// integers that store them.
std::optional<DType> find_dtype_number(std::uint64_t number);

// The fields that change from step to step. `mode_step_text` is the decimal
// text of `step.mode_step`, formatted once per step.
struct RecordStamp {
  double wall_seconds = 0;
  StepId step;
  std::string_view mode_step_text;
};

// Formats `mode_step_text`; returns a view into `buffer`.
std::string_view format_mode_step(Step mode_step, std::span<char, 24> buffer);

// Encodes the records of one tag, dtype and shape.
class TensorRecordEncoder {
 public:
  // For every dtype except strings.
  TensorRecordEncoder(std::string_view tag, DType dtype,
                      std::span<const std::int64_t> shape);
  // Same with another number for the dtype: that of a quantized type that is
  // stored as `dtype`.
  TensorRecordEncoder(std::string_view tag, DType dtype,
                      std::span<const std::int64_t> shape,
                      std::uint32_t dtype_number);

  // For a tensor of strings. The payload is its packed elements
  // (format/string_elements.h), of `payload_bytes` bytes.
  static TensorRecordEncoder of_strings(std::string_view tag, DType dtype,
                                        std::span<const std::int64_t> shape,
                                        std::uint64_t payload_bytes);

  // Appends to `head` all bytes before the payload (length word, its CRC,
  // message head) and to `tail` all bytes after it (metadata, checksum word).
  // The payload has `payload_bytes`. Returns the size of the whole record.
  std::uint64_t encode(const RecordStamp& stamp, std::string& head,
                       std::string& tail) const;

  std::uint64_t payload_bytes() const { return payload_bytes_; }

 private:
  TensorRecordEncoder(std::string value_head, std::uint64_t payload_bytes)
      : payload_bytes_(payload_bytes), value_head_(std::move(value_head)) {}

  std::uint64_t payload_bytes_;
  std::string value_head_;  // from the tag to the start of the payload
};

// Replaces the constant word at the end of `tail` by the true checksum of the
// message. `head_crc` is the CRC-32C of the message before `tail`, without the
// length word and its checksum.
void set_true_checksum(std::span<char> tail, std::uint32_t head_crc);

// Appends a whole record: for small tensors, strings and tests.
// `strings` are the elements of `string` and `bytes`, `payload` of all others.
void append_tensor_record(std::string_view tag, DType dtype,
                          std::span<const std::int64_t> shape,
                          std::span<const std::byte> payload,
                          std::span<const std::string> strings,
                          const RecordStamp& stamp, std::string& out);

// A parsed record. Its views point into the parsed bytes.
struct TensorRecord {
  std::string_view tag;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> payload;      // C order, little endian
  std::vector<std::byte> decoded_payload;  // owns `payload` if the file
                                           // stores values one by one
  std::vector<std::string> strings;        // of `string` and `bytes` only
  double wall_seconds = 0;
  StepId step;
};

// Whether to check the word after the payload. `word` accepts both the constant
// word of the original and the true checksum.
enum class PayloadCheck { none, word };

// Parses the record at the start of `bytes`, which must contain all of it.
// Fails with `corrupt`, naming the position and the expected content, and with
// `unsupported` for an event without a tensor. Never reads outside `bytes`;
// memory is bounded by their size.
Result<TensorRecord> parse_tensor_record(std::span<const std::byte> bytes,
                                         PayloadCheck check);

// Parses the message of a record, without its framing. Fails as
// `parse_tensor_record` does.
Result<TensorRecord> parse_tensor_message(std::span<const std::byte> message);

// Checks the length word of the record that starts at `bytes` and returns the
// size of the record, including its framing. Fails with `corrupt`.
Result<std::uint64_t> record_bytes(std::span<const std::byte> bytes);

}  // namespace smdebug
