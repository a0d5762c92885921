#include "capture/step_writer.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/try.h"
#include "smdebug/reduce/reductions.h"

#include "base/crc32c.h"
#include "capture/slot_state.h"
#include "format/file_names.h"
#include "format/series_file.h"

namespace smdebug {
namespace {

bool needs_elements_of(const SaveSpec& spec) {
  return std::ranges::any_of(spec.reductions, needs_elements);
}

std::uint64_t tensor_bytes(const Message& message) {
  if (is_string(message.dtype)) return message.tensor.strings_bytes;
  return TensorView{message.dtype, nullptr, message.shape(), {}}.bytes();
}

bool writes_raw(const Message& message) {
  return message.tensor.spec->raw && message.repeats == 1 &&
         tensor_bytes(message) <= kMaxPayloadBytes;
}

// The error if the thread that fills the lane gave up in the middle of a
// tensor.
Error cut_off() {
  return {Error::Code::unavailable,
          "a tensor was cut off: the storage did not keep up"};
}

}  // namespace

StepWriter::StepWriter(std::shared_ptr<Storage> storage, std::string worker,
                       const Framework& framework, Checksum checksum,
                       std::shared_ptr<TensorBoardWriter> tensorboard,
                       std::unique_ptr<RunSizeLimit> size_limit,
                       std::unique_ptr<AttemptStart> attempt,
                       std::shared_ptr<ProgressWriter> progress)
    : storage_(std::move(storage)),
      worker_(std::move(worker)),
      deviation_(framework.deviation),
      reduction_form_{framework.reductions_are_0d,
                      framework.reductions_keep_colon_digits},
      checksum_(checksum),
      tensorboard_(std::move(tensorboard)),
      size_limit_(std::move(size_limit)),
      attempt_(std::move(attempt)),
      progress_(std::move(progress)) {
  if (storage_ && !size_limit_) statistics_.emplace(storage_, worker_);
}

StepWriter::~StepWriter() = default;

Status StepWriter::start() {
  const auto attempt = std::exchange(attempt_, nullptr);
  if (!attempt) return {};
  SMD_TRY(has_older_, attempt->run());
  return {};
}

void StepWriter::begin_step(double wall_seconds, const StepId& step,
                            const void* schedule) {
  step_ = step;
  is_step_open_ = true;
  kind_ = {step.mode, schedule};
  step_tensors_ = 0;
  stamp_ = {wall_seconds, step,
            format_mode_step(step.mode_step, mode_step_text_)};
  event_key_.clear();
  event_offset_ = 0;
  index_.clear();
  if (tensorboard_) tensorboard_->begin_step(wall_seconds, step);
}

Status StepWriter::add(const Message& message) {
  if (message.is_first) {
    if (record_.is_open) return cut_off();
    if (message.is_last) add_reductions(message);
    if (writes_raw(message)) begin_raw_record(message);
  }
  if (tensorboard_) tensorboard_->add(message);
  if (record_.is_open && !message.payload().empty())
    add_payload_part(message.payload());
  const bool is_gathered = !(message.is_first && message.is_last) &&
                           needs_elements_of(*message.tensor.spec);
  if (is_gathered) {
    elements_.insert(elements_.end(), message.payload().begin(),
                     message.payload().end());
  }
  if (!message.is_last) return {};
  if (record_.is_open) end_raw_record();
  if (!message.is_first) add_reductions(message);
  elements_.clear();

  note(*message.tensor.slot, message);
  if (progress_ && message.tensor.spec->is_loss) note_loss(message);
  if (message.tensor.also != nullptr)
    for (SlotState* slot : *message.tensor.also) note(*slot, message);
  return {};
}

// Adds a tensor's shape, statistics and placement to the index. Its record was
// added with the position.
void StepWriter::note(SlotState& slot, const Message& message) {
  const std::string& json_name = slot.records.json_name(slot.name);
  if (message.tensor.spec->shape)
    index_.add_shape(json_name, json_name, message.shape());
  index_.add_statistics(json_name, message.dtype, message.shape(),
                        message.statistics, message.tensor.placement);
  if (!slot.records.note_step(step_.global)) {
    ++step_tensors_;
  } else if (counts_.replaced_tensors++ == 0) {
    counts_.first_replaced = slot.name;
  }
}

void StepWriter::note_loss(const Message& message) {
  if (is_string(message.dtype)) return;
  if (const auto mean = reduction_from(message.statistics,
                                       {Reduction::mean, false}, deviation_)) {
    progress_->note_loss(message.tensor.slot->name, *mean);
  }
}

void StepWriter::begin_raw_record(const Message& message) {
  SlotState& slot = *message.tensor.slot;
  const std::size_t head = arena_.size();
  tail_.clear();
  RecordStamp stamp = stamp_;
  if (message.tensor.wall_seconds != 0)
    stamp.wall_seconds = message.tensor.wall_seconds;
  // The length of strings differs from step to step, so their encoder cannot be
  // reused.
  const std::uint64_t bytes =
      is_string(message.dtype)
          ? TensorRecordEncoder::of_strings(slot.name, message.dtype,
                                            message.shape(),
                                            message.tensor.strings_bytes)
                .encode(stamp, arena_, tail_)
          : slot.records.raw(slot.name, message.dtype, message.shape())
                .encode(stamp, arena_, tail_);
  add_arena_part(head);
  record_ = {true, event_offset_, bytes, 0, 0, &slot, message.tensor.also};
  if (checksum_ == Checksum::crc32c)
    record_.message_crc = crc32c(message_from(head).subspan(kRecordHeadBytes));
}

// The bytes of the arena from `offset` on.
std::span<const std::byte> StepWriter::message_from(std::size_t offset) const {
  return std::as_bytes(std::span(arena_).subspan(offset));
}

void StepWriter::end_raw_record() {
  if (checksum_ == Checksum::crc32c)
    set_true_checksum(tail_, record_.message_crc);
  const std::size_t tail = arena_.size();
  arena_ += tail_;
  add_arena_part(tail);
  SlotState& slot = *record_.slot;
  index_.add_tensor(slot.records.json_name(slot.name), record_.start,
                    record_.bytes, record_.crc);
  if (record_.also != nullptr) {
    for (SlotState* other : *record_.also)
      index_.add_tensor(other->records.json_name(other->name), record_.start,
                        record_.bytes, record_.crc);
  }
  event_offset_ = record_.start + record_.bytes;
  record_.is_open = false;
  ++counts_.records;
}

void StepWriter::add_reductions(const Message& message) {
  if (message.tensor.spec->reductions.empty()) return;
  if (is_string(message.dtype)) return;
  const std::span<const std::byte> elements =
      message.is_first ? message.payload()
                       : std::span<const std::byte>(elements_);
  for (ReductionOp op : message.tensor.spec->reductions)
    add_reduction(message, op, elements);
}

void StepWriter::add_reduction(const Message& message, ReductionOp op,
                               std::span<const std::byte> elements) {
  // As an expanded tensor again, if its elements were put once.
  const auto repeats = static_cast<std::int64_t>(message.repeats);
  const auto size = static_cast<std::int64_t>(message.statistics.count);
  const std::array<std::int64_t, 2> shape = {size / repeats, repeats};
  constexpr std::array<std::int64_t, 2> kStrides = {1, 0};
  TensorView view{message.dtype, elements.data(), message.shape(), {}};
  if (repeats > 1) view = {message.dtype, elements.data(), shape, kStrides};
  const std::optional<double> value =
      needs_elements(op)
          ? reduce_tensor(view, message.statistics, op, deviation_)
          : reduction_from(message.statistics, op, deviation_);
  if (!value) return;
  const DType dtype = reduced_dtype(message.dtype);
  std::array<std::byte, 8> bytes;
  const std::span<const std::byte> payload =
      std::span(bytes).first(scalar_bytes(dtype, *value, bytes));

  SlotState& slot = *message.tensor.slot;
  const SlotRecords::ReductionRecord& record =
      slot.records.reduction(slot.name, op, dtype, reduction_form_);
  const std::size_t start = arena_.size();
  tail_.clear();
  const std::uint64_t record_bytes =
      record.encoder.encode(stamp_, arena_, tail_);
  arena_.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  arena_ += tail_;
  if (checksum_ == Checksum::crc32c)
    set_true_checksum(std::span(arena_).subspan(start + kRecordHeadBytes), 0);
  add_arena_part(start);
  index_.add_tensor(record.json_name, event_offset_, record_bytes,
                    crc32c(payload));
  event_offset_ += record_bytes;
  ++counts_.records;
}

void StepWriter::add_arena_part(std::size_t offset) {
  const std::size_t size = arena_.size() - offset;
  pending_bytes_ += size;
  if (!parts_.empty() && parts_.back().bytes == nullptr &&
      parts_.back().offset + parts_.back().size == offset) {
    parts_.back().size += size;
    return;
  }
  parts_.push_back({nullptr, offset, size});
}

void StepWriter::add_payload_part(std::span<const std::byte> payload) {
  record_.crc = crc32c(payload, record_.crc);
  if (checksum_ == Checksum::crc32c)
    record_.message_crc = crc32c(payload, record_.message_crc);
  pending_bytes_ += payload.size();
  parts_.push_back({payload.data(), 0, payload.size()});
}

Status StepWriter::open_event_file() {
  if (event_file_ || !storage_) return {};
  event_key_ = event_file_key(step_.global, worker_);
  SMD_TRY(event_file_, storage_->create(event_key_));
  return {};
}

Status StepWriter::flush() {
  if (parts_.empty()) return {};
  spans_.clear();
  for (const Part& part : parts_) {
    const auto* bytes =
        part.bytes != nullptr
            ? part.bytes
            : reinterpret_cast<const std::byte*>(arena_.data()) + part.offset;
    spans_.emplace_back(bytes, part.size);
  }
  Status status = open_event_file();
  if (status && event_file_) status = event_file_->append(spans_);
  counts_.bytes += pending_bytes_;
  parts_.clear();
  arena_.clear();
  pending_bytes_ = 0;
  return status;
}

Status StepWriter::end_step(std::uint64_t dropped_tensors,
                            std::uint64_t dropped_bytes) {
  if (record_.is_open) return cut_off();
  is_step_open_ = false;
  whole_tensors_[kind_] = step_tensors_;
  SMD_CHECK_OK(flush());
  const std::string index_key = index_file_key(step_.global, worker_);
  if (event_file_) {
    SMD_CHECK_OK(remove_older(index_key));
    SMD_CHECK_OK(event_file_->commit());
    event_file_.reset();
  }
  index_.set_drops(dropped_tensors, dropped_bytes);
  if (index_.empty() && dropped_tensors == 0) return {};
  const std::string_view text =
      index_.finish(step_.mode, step_.mode_step, event_key_);
  if (storage_) {
    SMD_CHECK_OK(put_object(*storage_, index_key, text));
  }
  counts_.bytes += text.size();
  if (tensorboard_) counts_.bytes += tensorboard_->end_step();
  ++counts_.steps;
  if (size_limit_) {
    size_limit_->published(step_.global, event_offset_ + text.size(),
                           tensorboard_ ? tensorboard_->kept_bytes() : 0);
    counts_.removals = size_limit_->counts();
  }
  if (progress_)
    progress_->published(step_, counts_, dropped_tensors, dropped_bytes);
  return statistics_ ? statistics_->published(step_.global, text) : Status();
}

// Removes the index file of an earlier attempt at this step. If this process
// died between committing the event file and the index file, the old index
// would refer to the new event file.
Status StepWriter::remove_older(const std::string& index_key) {
  return has_older_ ? storage_->remove(index_key) : Status();
}

Status StepWriter::write(const Document& document) {
  if (!storage_) return {};
  SMD_CHECK_OK(put_object(*storage_, document.key, document.text));
  counts_.bytes += document.text.size();
  return {};
}

Status StepWriter::write(const ScalarChunk& scalars) {
  const SeriesFile file = {worker_, series_of(scalars)};
  if (!storage_ || file.series.empty()) return {};
  const auto [first, last] = steps_of(file);
  return write({series_file_key({worker_, first, last, series_files_++}),
                write_series_file(file)});
}

Status StepWriter::close() {
  if (tensorboard_) tensorboard_->close();
  if (progress_) progress_->close();
  if (statistics_) SMD_CHECK_OK(statistics_->close());
  return settle();
}

Status StepWriter::beat() {
  if (progress_) progress_->beat();
  return {};
}

// In short calls: the storage makes progress with each of them.
Status StepWriter::settle() {
  for (bool is_settled = !storage_; !is_settled;) {
    SMD_TRY(is_settled, storage_->settle());
  }
  return {};
}

bool StepWriter::has_whole_step() const {
  if (!is_step_open_ || record_.is_open) return false;
  const auto known = whole_tensors_.find(kind_);
  return known != whole_tensors_.end() && step_tensors_ >= known->second;
}

void StepWriter::keep_step(Step step) {
  if (size_limit_) size_limit_->keep(step);
}

void StepWriter::abandon() {
  is_step_open_ = false;
  if (event_file_) event_file_->abort();
  event_file_.reset();
  if (tensorboard_) tensorboard_->abandon();
  if (progress_) progress_->abandon();
  record_.is_open = false;
  parts_.clear();
  arena_.clear();
  elements_.clear();
  pending_bytes_ = 0;
}

}  // namespace smdebug
