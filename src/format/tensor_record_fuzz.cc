// Parses any bytes as a record. Its views must lie within the bytes. Both
// checksum words are corrected first; otherwise nearly every input would fail
// there.

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/crc32c.h"
#include "format/tensor_record.h"

namespace {

using smdebug::kRecordHeadBytes;

// Returns a record whose message is `message`.
std::vector<std::byte> framed(std::span<const std::byte> message) {
  std::vector<std::byte> record(kRecordHeadBytes);
  const std::uint64_t length = message.size();
  std::memcpy(record.data(), &length, sizeof(length));
  const std::uint32_t word = smdebug::mask_crc32c(
      smdebug::crc32c(std::span(record).first(sizeof(length))));
  std::memcpy(record.data() + sizeof(length), &word, sizeof(word));
  record.insert(record.end(), message.begin(), message.end());
  const auto tail = std::as_bytes(std::span(&smdebug::kConstantPayloadWord, 1));
  record.insert(record.end(), tail.begin(), tail.end());
  return record;
}

void check(std::span<const std::byte> bytes) {
  const auto record =
      smdebug::parse_tensor_record(bytes, smdebug::PayloadCheck::word);
  if (!record) return;
  std::uint64_t elements = 1;
  for (const auto extent : record->shape) {
    elements *= static_cast<std::uint64_t>(extent);
  }
  const std::uint64_t expected =
      smdebug::is_string(record->dtype)
          ? record->strings.size()
          : record->payload.size() / smdebug::dtype_bytes(record->dtype);
  if (elements != expected) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check(bytes);
  check(framed(bytes));
  return 0;
}
