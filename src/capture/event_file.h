#pragma once

// Writes an event file to a storage, record by record. It creates the file with
// the first record, gathers small records into few writes, and passes large
// tensors on without a copy. `FileWriter` uses it; sessions use `StepWriter`,
// whose elements are already in a ring.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

#include "format/tensor_record.h"

namespace smdebug {

struct WrittenRecord {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
  std::uint32_t payload_crc = 0;
  TensorStatistics statistics;
};

class EventFile {
 public:
  EventFile(std::shared_ptr<Storage> storage, std::string key, Checksum word)
      : storage_(std::move(storage)), key_(std::move(key)), word_(word) {}

  const std::string& key() const { return key_; }
  bool is_open() const { return object_ != nullptr; }

  // Appends a tensor of any dtype and strides. `encoder` must be for its dtype
  // and shape. Fails as the storage; the file can then only be aborted.
  Result<WrittenRecord> append(const TensorRecordEncoder& encoder,
                               const RecordStamp& stamp,
                               const TensorView& tensor);
  // Appends an encoded record that ends in the constant word. Fails likewise.
  Result<WrittenRecord> append(const std::string& record);

  Status flush();
  // Publishes the file, if it was created.
  Status commit();
  void abort();
  // Leaves the file to the parent, in the child of a fork.
  void forget();

 private:
  Status open();
  Status put(std::span<const std::byte> bytes);
  Status put_elements(const TensorView& tensor, WrittenRecord& written,
                      std::uint32_t& message_crc);
  Status put_strings(const TensorView& tensor, WrittenRecord& written,
                     std::uint32_t& message_crc);
  Status put_piece(std::span<const std::byte> piece, WrittenRecord& written,
                   std::uint32_t& message_crc);
  void set_word(std::string& tail, std::uint32_t message_crc) const;

  const std::shared_ptr<Storage> storage_;
  const std::string key_;
  const Checksum word_;
  std::unique_ptr<ObjectWriter> object_;
  std::uint64_t offset_ = 0;
  std::string pending_;  // not passed to the storage yet
  std::string head_, tail_;
};

}  // namespace smdebug
