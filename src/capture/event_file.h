#pragma once

// An event file on its way into a storage, record by record: created with its
// first record, small records gathered into few writes, large tensors passed on
// without a copy. `FileWriter` uses it; a session's steps are written by
// `StepWriter`, whose elements already lie in a ring.

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

  // Appends a tensor of any dtype and strides. `encoder` is of its dtype and
  // shape. Fails as the storage does; the file can then only be aborted.
  Result<WrittenRecord> append(const TensorRecordEncoder& encoder,
                               const RecordStamp& stamp,
                               const TensorView& tensor);
  // Appends a record that was encoded whole, with the constant word.
  Result<WrittenRecord> append(std::string record);

  Status flush();
  // Publishes the file, if there is one.
  Status commit();
  void abort();
  // In the child of a fork: forgets the file, which is the parent's.
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
  std::string pending_;  // not yet handed to the storage
  std::string head_, tail_;
};

}  // namespace smdebug
