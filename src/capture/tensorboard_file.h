#pragma once

// The growing file for TensorBoard of one mode. Where the storage can append,
// each step is visible as soon as it has ended. Elsewhere steps are gathered
// into whole objects, so that their number does not grow with each step.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "smdebug/base/result.h"
#include "smdebug/store/storage.h"

#include "format/tensorboard_record.h"

namespace smdebug {

class TensorBoardFile {
 public:
  // `name` has every field but the time, which is that of the first record.
  TensorBoardFile(std::shared_ptr<Storage> storage, TensorBoardFileName name)
      : storage_(std::move(storage)), name_(std::move(name)) {}

  // Appends whole records. Fails as the storage; the file can then only be
  // abandoned.
  Status append(std::string_view records, double wall_seconds);
  // Publishes gathered steps that are large, or older than `kLongestGathering`.
  Status publish_if_due(double wall_seconds);
  // Publishes what was appended. The next record begins another file.
  Status close();
  void abandon();

  bool is_open() const { return log_ != nullptr || object_ != nullptr; }
  std::uint64_t bytes() const { return bytes_; }
  // Of the open file, or of the last one; empty before the first.
  const std::string& key() const { return key_; }

  static constexpr double kLongestGathering = 30;  // seconds
  static constexpr std::uint64_t kMostGatheredBytes = std::uint64_t{1} << 20;

 private:
  Status open(double wall_seconds);

  std::shared_ptr<Storage> storage_;
  TensorBoardFileName name_;
  std::string key_;
  std::unique_ptr<ObjectLog> log_;
  std::unique_ptr<ObjectWriter> object_;  // where there is no log
  double began_seconds_ = 0;
  std::uint64_t bytes_ = 0;  // of the open file
};

}  // namespace smdebug
