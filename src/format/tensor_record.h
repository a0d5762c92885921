#pragma once

// One tensor record of an event file (docs/format.md "Event files"). The
// payload is not part of what is built here: a record is a head, the
// elements as they are, and a tail, so that a tensor is never copied into a
// message. What does not change from step to step is encoded once.

#include <cstddef>
#include <cstdint>
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

// What stands in place of the message's checksum: the masked CRC-32C of the
// text "0x12345678". The original's Trial accepts nothing else.
inline constexpr std::uint32_t kConstantPayloadWord = 0x062dc0b3;

// What changes from step to step. `mode_step_text` is the decimal text of
// `step.mode_step`, made once per step.
struct RecordStamp {
  double wall_seconds = 0;
  StepId step;
  std::string_view mode_step_text;
};

// Makes the stamp's text; the view is into `buffer`.
std::string_view format_mode_step(Step mode_step, std::span<char, 24> buffer);

// Encodes the records of one tag, dtype and shape.
class TensorRecordEncoder {
 public:
  // For every dtype but strings.
  TensorRecordEncoder(std::string_view tag, DType dtype,
                      std::span<const std::int64_t> shape);
  // The same with another number for the dtype: that of a type that is stored
  // as `dtype` (format/dtype_number.h).
  TensorRecordEncoder(std::string_view tag, DType dtype,
                      std::span<const std::int64_t> shape,
                      std::uint32_t dtype_number);

  // For a tensor of strings, whose payload is its packed elements
  // (format/string_elements.h): `payload_bytes` of them.
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

// Puts the true checksum of the message in place of the constant word that ends
// `tail`. `head_crc` is the CRC-32C of the message before `tail`: without the
// length word and its checksum.
void set_true_checksum(std::span<char> tail, std::uint32_t head_crc);

// Appends a whole record: for small tensors, strings and tests.
// `strings` are the elements of `string` and `bytes`, `payload` of all others.
void append_tensor_record(std::string_view tag, DType dtype,
                          std::span<const std::int64_t> shape,
                          std::span<const std::byte> payload,
                          std::span<const std::string> strings,
                          const RecordStamp& stamp, std::string& out);

// A record as it was read. Views point into the bytes that were parsed.
struct TensorRecord {
  std::string_view tag;
  DType dtype = DType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> payload;      // C order, little endian
  std::vector<std::byte> decoded_payload;  // owns `payload` where the file
                                           // held values one by one
  std::vector<std::string> strings;        // of `string` and `bytes` only
  double wall_seconds = 0;
  StepId step;
};

// Whether the checksum word after the payload is looked at. `word` accepts
// both the constant word of the original and the true CRC.
enum class PayloadCheck { none, word };

// Parses the record at the start of `bytes`, which must hold all of it. Fails
// with `corrupt`, saying what was expected at which byte; with `unsupported`
// for an event that holds no tensor. Never reads outside `bytes`; memory is
// bounded by their size.
Result<TensorRecord> parse_tensor_record(std::span<const std::byte> bytes,
                                         PayloadCheck check);

// Parses the message of a record, without the framing around it. Fails as
// `parse_tensor_record`.
Result<TensorRecord> parse_tensor_message(std::span<const std::byte> message);

// Returns the size of the record that starts at `bytes`, framing included,
// after checking the length word. Fails with `corrupt`.
Result<std::uint64_t> record_bytes(std::span<const std::byte> bytes);

}  // namespace smdebug
