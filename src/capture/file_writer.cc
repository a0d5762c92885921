#include "smdebug/capture/file_writer.h"

#include <array>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "smdebug/store/open_storage.h"

#include "base/environment.h"
#include "capture/event_file.h"
#include "format/dtype_number.h"
#include "format/file_names.h"
#include "format/index_file.h"
#include "format/string_elements.h"
#include "store/key.h"

namespace smdebug {
namespace {

Error invalid(std::string message) {
  return {Error::Code::invalid_argument, std::move(message)};
}

Status check_name(std::string_view name) {
  if (name.empty()) return invalid("a tensor has no name: give it one");
  return {};
}

// Fails where `shape` is none that can be read back, or where `element_bytes`
// for each of its elements are more than a record holds.
Status check_shape(std::string_view name, std::span<const std::int64_t> shape,
                   std::size_t element_bytes) {
  if (shape.size() > kMaxDims) {
    return invalid(
        fmt::format("tensor '{}' has {} dimensions: at most {} can "
                    "be written",
                    name, shape.size(), kMaxDims));
  }
  std::int64_t size = 1;
  bool is_too_large = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return invalid(fmt::format("tensor '{}' has a dimension of {} elements",
                                 name, extent));
    }
    is_too_large |= __builtin_mul_overflow(size, extent, &size);
  }
  if (element_bytes != 0 && !is_too_large) {
    is_too_large =
        static_cast<std::uint64_t>(size) > kMaxPayloadBytes / element_bytes;
  }
  if (is_too_large) {
    return invalid(fmt::format(
        "tensor '{}' of shape [{}] has more than the {} bytes that a record "
        "can hold: save it in parts",
        name, fmt::join(shape, ", "), kMaxPayloadBytes));
  }
  return {};
}

Status check_strings(std::string_view name, std::span<const std::int64_t> shape,
                     std::span<const std::string> elements) {
  SMD_CHECK_OK(check_shape(name, shape, 1));
  std::int64_t size = 1;
  for (const std::int64_t extent : shape) size *= extent;
  if (static_cast<std::uint64_t>(size) != elements.size()) {
    return invalid(fmt::format("tensor '{}' of shape [{}] is given {} texts",
                               name, fmt::join(shape, ", "), elements.size()));
  }
  // A text has a key and a length before it.
  constexpr std::uint64_t kFieldHeadBytes = 6;
  std::uint64_t bytes = 0;
  for (const std::string& text : elements)
    bytes += text.size() + kFieldHeadBytes;
  if (bytes > kMaxPayloadBytes) {
    return invalid(fmt::format(
        "the texts of tensor '{}' have {} bytes, and a record can hold {}: "
        "save them in parts",
        name, bytes, kMaxPayloadBytes));
  }
  return {};
}

}  // namespace

class FileWriter::Impl {
 public:
  Impl(std::shared_ptr<Storage> storage, FileWriterOptions options)
      : storage_(std::move(storage)),
        options_(std::move(options)),
        file_(storage_, event_file_key(options_.step, options_.worker),
              options_.write_checksum ? Checksum::crc32c : Checksum::constant) {
    if (options_.clock == nullptr) options_.clock = &system_clock();
  }

  ~Impl() {
    if (is_of_this_process()) {
      file_.abort();
    } else {
      file_.forget();
    }
  }

  Status write_tensor(std::string_view name, const TensorView& tensor,
                      const RecordLabel& label);
  Status write_strings(std::string_view name,
                       std::span<const std::int64_t> shape,
                       std::span<const std::string> elements,
                       const RecordLabel& label);
  Status write_shape(std::string_view name, std::span<const std::int64_t> shape,
                     std::string_view original_name, const RecordLabel& label);
  Status flush();
  Status close();
  Result<std::string> name() const;

 private:
  // The one mode and mode step that an index file has.
  struct Meta {
    StepId step;
    bool is_of_tensor = false;
  };

  bool is_of_this_process() const { return process_id() == process_id_; }
  Error belongs_to_parent() const;
  // Locks, where there is anything left to be done.
  Result<std::unique_lock<std::mutex>> enter() const;
  StepId step_of(const RecordLabel& label) const {
    return {options_.step, label.mode, label.mode_step.value_or(options_.step)};
  }
  RecordStamp stamp(const RecordLabel& label, std::span<char, 24> text) const;
  void note(std::string_view name, DType dtype,
            std::span<const std::int64_t> shape, const WrittenRecord& record,
            const RecordLabel& label);
  Status latch(Error error);

  const std::shared_ptr<Storage> storage_;
  FileWriterOptions options_;
  const std::int64_t process_id_ = process_id();

  mutable std::mutex mutex_;  // guards what follows
  EventFile file_;
  IndexFileBuilder index_;
  std::optional<Meta> meta_;
  std::optional<Error> error_;  // the first of the storage
  bool has_records_ = false;
  bool is_closed_ = false;
};

Error FileWriter::Impl::belongs_to_parent() const {
  return {Error::Code::closed,
          fmt::format("the writer of '{}' belongs to process {}: a forked "
                      "process needs one of its own",
                      file_.key(), process_id_)};
}

Result<std::unique_lock<std::mutex>> FileWriter::Impl::enter() const {
  // Another thread of the parent may have held the mutex when it forked.
  if (!is_of_this_process()) return belongs_to_parent();
  std::unique_lock lock(mutex_);
  if (error_) return *error_;
  if (is_closed_) {
    return Error{Error::Code::closed,
                 fmt::format("the writer of '{}' was closed", file_.key())};
  }
  return lock;
}

RecordStamp FileWriter::Impl::stamp(const RecordLabel& label,
                                    std::span<char, 24> text) const {
  const StepId step = step_of(label);
  const double wall_seconds =
      label.wall_seconds ? *label.wall_seconds : options_.clock->wall_seconds();
  return {wall_seconds, step, format_mode_step(step.mode_step, text)};
}

Status FileWriter::Impl::write_tensor(std::string_view name,
                                      const TensorView& tensor,
                                      const RecordLabel& label) {
  SMD_CHECK_OK(check_name(name));
  if (is_string(tensor.dtype)) {
    return invalid(fmt::format(
        "tensor '{}' holds texts: write it with write_strings", name));
  }
  SMD_CHECK_OK(check_shape(name, tensor.shape, dtype_bytes(tensor.dtype)));
  const std::optional<std::uint32_t> number =
      label.is_quantized ? quantized_dtype_number(tensor.dtype)
                         : dtype_number(tensor.dtype);
  if (!number) {
    return invalid(
        fmt::format("tensor '{}' is of {}, which no quantized dtype "
                    "is stored as",
                    name, dtype_name(tensor.dtype)));
  }
  SMD_TRY(const auto lock, enter());
  std::array<char, 24> text;
  const TensorRecordEncoder encoder(name, tensor.dtype, tensor.shape, *number);
  const auto written = file_.append(encoder, stamp(label, text), tensor);
  if (!written) return latch(written.error());
  note(name, tensor.dtype, tensor.shape, *written, label);
  return {};
}

Status FileWriter::Impl::write_strings(std::string_view name,
                                       std::span<const std::int64_t> shape,
                                       std::span<const std::string> elements,
                                       const RecordLabel& label) {
  SMD_CHECK_OK(check_name(name));
  SMD_CHECK_OK(check_strings(name, shape, elements));
  if (label.is_quantized) {
    return invalid(
        fmt::format("tensor '{}' holds texts, which no quantized "
                    "dtype is stored as",
                    name));
  }
  SMD_TRY(const auto lock, enter());
  std::array<char, 24> text;
  std::string record;
  append_tensor_record(name, DType::string, shape, {}, elements,
                       stamp(label, text), record);
  auto written = file_.append(std::move(record));
  if (!written) return latch(written.error());
  written->statistics.count = elements.size();
  written->payload_crc = string_elements_crc32c(elements);
  note(name, DType::string, shape, *written, label);
  return {};
}

void FileWriter::Impl::note(std::string_view name, DType dtype,
                            std::span<const std::int64_t> shape,
                            const WrittenRecord& record,
                            const RecordLabel& label) {
  has_records_ = true;
  if (!label.is_indexed) return;
  if (!meta_ || !meta_->is_of_tensor) meta_ = Meta{step_of(label), true};
  const std::string json_name = json_string(name);
  index_.add_tensor(json_name, record.start, record.bytes, record.payload_crc);
  index_.add_statistics(json_name, dtype, shape, record.statistics);
}

Status FileWriter::Impl::write_shape(std::string_view name,
                                     std::span<const std::int64_t> shape,
                                     std::string_view original_name,
                                     const RecordLabel& label) {
  SMD_CHECK_OK(check_name(name));
  SMD_CHECK_OK(check_shape(name, shape, 0));
  SMD_TRY(const auto lock, enter());
  if (!meta_) meta_ = Meta{step_of(label), false};
  index_.add_shape(json_string(name),
                   json_string(original_name.empty() ? name : original_name),
                   shape);
  return {};
}

Status FileWriter::Impl::flush() {
  SMD_TRY(const auto lock, enter());
  if (Status status = file_.flush(); !status) return latch(status.error());
  return {};
}

Status FileWriter::Impl::close() {
  auto lock = enter();
  if (!lock) {
    if (lock.error().code == Error::Code::closed && is_of_this_process()) {
      return {};
    }
    return std::move(lock).error();
  }
  is_closed_ = true;
  if (Status status = file_.commit(); !status) return latch(status.error());
  if (!meta_) return {};
  const std::string_view text =
      index_.finish(meta_->step.mode, meta_->step.mode_step, file_.key());
  const std::string key = index_file_key(options_.step, options_.worker);
  if (Status status = put_object(*storage_, key, text); !status)
    return latch(status.error());
  return {};
}

Result<std::string> FileWriter::Impl::name() const {
  if (!is_of_this_process()) return belongs_to_parent();
  const std::lock_guard lock(mutex_);
  if (!has_records_) {
    return Error{Error::Code::not_found,
                 fmt::format("the writer of '{}' has no file yet: nothing was "
                             "written",
                             file_.key())};
  }
  return fmt::format("{}/{}", storage_->uri(), file_.key());
}

Status FileWriter::Impl::latch(Error error) {
  file_.abort();
  error_ = std::move(error).within(fmt::format("writing '{}'", file_.key()));
  return *error_;
}

Result<std::unique_ptr<FileWriter>> FileWriter::create(
    std::string_view run, FileWriterOptions options) {
  SMD_TRY(auto storage, open_storage(run));
  return create(std::move(storage), std::move(options));
}

Result<std::unique_ptr<FileWriter>> FileWriter::create(
    std::shared_ptr<Storage> run, FileWriterOptions options) {
  if (options.step < 0) {
    return invalid(fmt::format(
        "a step of {} cannot be written: steps count from 0", options.step));
  }
  if (options.worker.empty()) return invalid("the worker has no name");
  SMD_CHECK_OK(check_key(event_file_key(options.step, options.worker)));
  return std::unique_ptr<FileWriter>(new FileWriter(
      std::make_unique<Impl>(std::move(run), std::move(options))));
}

FileWriter::FileWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

FileWriter::~FileWriter() = default;

Status FileWriter::write_tensor(std::string_view name, const TensorView& tensor,
                                const RecordLabel& label) {
  return impl_->write_tensor(name, tensor, label);
}

Status FileWriter::write_strings(std::string_view name,
                                 std::span<const std::int64_t> shape,
                                 std::span<const std::string> elements,
                                 const RecordLabel& label) {
  return impl_->write_strings(name, shape, elements, label);
}

Status FileWriter::write_shape(std::string_view name,
                               std::span<const std::int64_t> shape,
                               std::string_view original_name,
                               const RecordLabel& label) {
  return impl_->write_shape(name, shape, original_name, label);
}

Status FileWriter::flush() { return impl_->flush(); }

Status FileWriter::close() { return impl_->close(); }

Result<std::string> FileWriter::name() const { return impl_->name(); }

}  // namespace smdebug
