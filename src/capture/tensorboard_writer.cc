#include "capture/tensorboard_writer.h"

#include <span>
#include <utility>

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
                                     Files files, std::string writer,
                                     Logger& logger)
    : storage_(std::move(storage)),
      files_(files),
      writer_(std::move(writer)),
      logger_(logger) {}

void TensorBoardWriter::begin_step(double wall_seconds, const StepId& step) {
  abandon();
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
  const auto histogram = counter_.histogram(message.statistics);
  if (!histogram) return;
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
    if (!file_) {
      SMD_TRY(file_, storage_->create(tensorboard_file_key(
                         step_.mode, step_.global, writer_)));
    }
    const std::span<const std::byte> records =
        std::as_bytes(std::span(records_));
    SMD_CHECK_OK(file_->append({&records, 1}));
  }
  bytes_ += records_.size();
  records_.clear();
  return {};
}

Status TensorBoardWriter::publish() {
  SMD_CHECK_OK(flush());
  if (file_) SMD_CHECK_OK(std::exchange(file_, nullptr)->commit());
  return {};
}

std::uint64_t TensorBoardWriter::end_step() {
  if (has_failed_) return 0;
  check(publish());
  return has_failed_ ? 0 : std::exchange(bytes_, 0);
}

void TensorBoardWriter::abandon() {
  if (file_) file_->abort();
  file_.reset();
  records_.clear();
  bytes_ = 0;
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
