#include "capture/tensorboard_writer.h"

#include <span>
#include <utility>

#include "smdebug/base/try.h"
#include "smdebug/config/plan.h"
#include "smdebug/core/dtype.h"

#include "capture/slot_state.h"
#include "format/tensorboard_record.h"

namespace smdebug {
namespace {

// A step with more bytes of records passes them to the storage before it ends.
// A smaller step writes its file at once, at its end.
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;

// Strings are not numbers.
bool is_number(const Message& message) {
  return message.tensor.spec->scalar_summary && message.statistics.count == 1 &&
         dtype_bytes(message.dtype) != 0;
}

// Booleans and strings have no histogram.
bool has_histogram(const Message& message) {
  return !message.tensor.spec->histogram_collection.empty() &&
         message.dtype != DType::boolean && dtype_bytes(message.dtype) != 0;
}

}  // namespace

TensorBoardWriter::TensorBoardWriter(std::shared_ptr<Storage> storage,
                                     Files files,
                                     const TensorBoardFileName& name,
                                     std::optional<std::uint64_t> max_bytes,
                                     Logger& logger)
    : files_(files),
      logger_(logger),
      storage_(std::move(storage)),
      max_bytes_(max_bytes) {
  for (const Mode mode : kModes) {
    TensorBoardFileName of_mode = name;
    of_mode.mode = mode;
    modes_.emplace_back(storage_, std::move(of_mode));
  }
}

void TensorBoardWriter::begin_step(double wall_seconds, const StepId& step) {
  discard_step();
  wall_seconds_ = wall_seconds;
  step_ = step;
}

void TensorBoardWriter::add(const Message& message) {
  if (has_failed_) return;
  if (has_histogram(message)) count(message);
  if (!message.is_last) return;
  if (has_histogram(message)) add_histogram(message);
  if (is_number(message)) add_number(message);
  if (records_.size() >= kMostKeptBytes) check(flush());
}

void TensorBoardWriter::count(const Message& message) {
  if (message.is_first) counter_.clear();
  const std::span<const std::byte> elements = message.payload();
  counter_.add(message.dtype, elements.data(),
               elements.size() / dtype_bytes(message.dtype));
}

void TensorBoardWriter::add_histogram(const Message& message) {
  auto histogram = counter_.histogram(message.statistics);
  if (!histogram) return;
  for (double& bucket : histogram->buckets)
    bucket *= static_cast<double>(message.repeats);
  SlotState& slot = *message.tensor.slot;
  append_histogram_record(
      slot.records.tensorboard_tag(message.tensor.spec->histogram_collection,
                                   slot.name),
      *histogram, wall_seconds_, step_.global, records_);
}

void TensorBoardWriter::add_number(const Message& message) {
  // The sum of one element is the element, including NaN and infinity.
  const auto value = reduction_from(
      message.statistics, {.reduction = Reduction::sum}, Deviation::population);
  SlotState& slot = *message.tensor.slot;
  append_scalar_record(slot.records.tensorboard_tag({}, slot.name), *value,
                       wall_seconds_, step_.global, records_);
}

Status TensorBoardWriter::flush() {
  if (records_.empty()) return {};
  if (files_ == Files::written) {
    SMD_CHECK_OK(
        modes_[mode_index(step_.mode)].append(records_, wall_seconds_));
  }
  bytes_ += records_.size();
  kept_bytes_ += records_.size();
  records_.clear();
  return {};
}

// A file cannot lose its oldest steps, so it ends early enough to be removed.
Status TensorBoardWriter::limit_size() {
  if (!max_bytes_ || files_ == Files::none) return {};
  for (TensorBoardFile& file : modes_) {
    if (!file.is_open() || file.bytes() < *max_bytes_ / 4) continue;
    ended_.push_back({file.key(), file.bytes()});
    SMD_CHECK_OK(file.close());
  }
  while (kept_bytes_ > *max_bytes_ && !ended_.empty()) {
    SMD_CHECK_OK(storage_->remove(ended_.front().key));
    kept_bytes_ -= ended_.front().bytes;
    ended_.pop_front();
  }
  return {};
}

std::uint64_t TensorBoardWriter::end_step() {
  if (has_failed_) return 0;
  check(flush());
  for (TensorBoardFile& file : modes_)
    if (!has_failed_) check(file.publish_if_due(wall_seconds_));
  if (!has_failed_) check(limit_size());
  return has_failed_ ? 0 : std::exchange(bytes_, 0);
}

void TensorBoardWriter::close() {
  for (TensorBoardFile& file : modes_)
    if (!has_failed_) check(file.close());
}

void TensorBoardWriter::discard_step() {
  records_.clear();
  bytes_ = 0;
}

void TensorBoardWriter::abandon() {
  for (TensorBoardFile& file : modes_) file.abandon();
  discard_step();
}

std::optional<Error> TensorBoardWriter::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void TensorBoardWriter::check(const Status& status) {
  if (status) return;
  has_failed_ = true;
  abandon();
  Error error = status.error();
  error = std::move(error).within("step " + std::to_string(step_.global));
  logger_.error("nothing more is written for TensorBoard, but the run is: " +
                error.message);
  std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

}  // namespace smdebug
