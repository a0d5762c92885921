#include "capture/tensorboard_file.h"

#include <utility>

#include "smdebug/base/try.h"

namespace smdebug {

// A name is taken if a process with the same number has written it.
Status TensorBoardFile::open(double wall_seconds) {
  if (log_ || object_) return {};
  name_.wall_seconds = began_seconds_ = wall_seconds;
  bytes_ = 0;
  while (true) {
    key_ = name_.key();
    ++name_.number;
    SMD_TRY(const bool is_taken, storage_->exists(key_));
    if (!is_taken) break;
  }
  SMD_TRY(log_, storage_->create_log(key_));
  if (log_) return {};
  SMD_TRY(object_, storage_->create(key_));
  return {};
}

Status TensorBoardFile::append(std::string_view records, double wall_seconds) {
  SMD_CHECK_OK(open(wall_seconds));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(records));
  SMD_CHECK_OK(log_ ? log_->append(bytes) : object_->append({&bytes, 1}));
  bytes_ += records.size();
  return {};
}

Status TensorBoardFile::publish_if_due(double wall_seconds) {
  if (!object_) return {};
  const bool is_due = bytes_ >= kMostGatheredBytes ||
                      wall_seconds >= began_seconds_ + kLongestGathering;
  return is_due ? close() : Status();
}

Status TensorBoardFile::close() {
  log_ = nullptr;
  const auto object = std::exchange(object_, nullptr);
  return object ? object->commit() : Status();
}

void TensorBoardFile::abandon() {
  log_ = nullptr;
  object_ = nullptr;
}

}  // namespace smdebug
