#include "smdebug/capture/file_writer.h"

#include <array>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"
#include "smdebug/store/bounded_storage.h"
#include "smdebug/store/open_storage.h"

#include "base/environment.h"
#include "capture/event_file.h"
#include "format/file_names.h"
#include "format/index_file.h"
#include "format/string_elements.h"
#include "format/tensorboard_record.h"
#include "reduce/histogram.h"
#include "store/backends.h"

namespace smdebug {
namespace {

using Kind = FileWriterOptions::Kind;

Error invalid(std::string message) {
  return {Error::Code::invalid_argument, std::move(message)};
}

Status check_name(std::string_view name) {
  if (name.empty()) return invalid("the name is empty");
  return {};
}

// Fails if readers would reject `shape`, or if its elements, `element_bytes`
// each, are more than a record can hold.
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

Status check_strings(std::string_view name,
                     std::span<const std::string_view> strings) {
  const std::uint64_t bytes = string_elements_bytes(strings);
  if (bytes <= kMaxPayloadBytes) return {};
  return invalid(fmt::format(
      "the strings of tensor '{}' have {} bytes, and a record can hold {}: "
      "save them in parts",
      name, bytes, kMaxPayloadBytes));
}

TensorRecordEncoder encoder_of(std::string_view name, const TensorView& tensor,
                               std::uint32_t dtype_number) {
  if (!is_string(tensor.dtype)) {
    return {name, tensor.dtype, tensor.shape, dtype_number};
  }
  return TensorRecordEncoder::of_strings(
      name, tensor.dtype, tensor.shape,
      string_elements_bytes(tensor.strings()));
}

std::string file_key(const FileWriterOptions& options) {
  return options.kind == Kind::tensorboard
             ? tensorboard_file_key(options.mode, options.step, options.worker)
             : event_file_key(options.step, options.worker);
}

}  // namespace

class __attribute__((visibility("hidden"))) FileWriter::Impl {
 public:
  Impl(std::shared_ptr<Storage> storage, FileWriterOptions options)
      : storage_(std::move(storage)),
        options_(std::move(options)),
        file_(storage_, file_key(options_),
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
  Status write_shape(std::string_view name, std::span<const std::int64_t> shape,
                     std::string_view original_name, const RecordLabel& label);
  Status write_scalar_summary(std::string_view tag, double value,
                              const SummaryLabel& label);
  Result<bool> write_histogram_summary(std::string_view tag,
                                       const TensorView& tensor,
                                       const SummaryLabel& label);
  Status write_summary(std::string_view summary, const SummaryLabel& label);
  Status write_graph(std::string_view graph);
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
  // Locks the writer. Fails if it cannot write any more.
  Result<std::unique_lock<std::mutex>> enter() const;
  StepId step_of(const RecordLabel& label) const {
    return {options_.step, label.mode, label.mode_step.value_or(options_.step)};
  }
  double seconds_of(std::optional<double> given) const {
    return given ? *given : options_.clock->wall_seconds();
  }
  RecordStamp stamp(const RecordLabel& label, std::span<char, 24> text) const;
  Status check_kind(Kind kind, std::string_view what) const;
  Status put(const std::string& record);
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
                      "process must create its own",
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
  return {seconds_of(label.wall_seconds), step,
          format_mode_step(step.mode_step, text)};
}

Status FileWriter::Impl::write_tensor(std::string_view name,
                                      const TensorView& tensor,
                                      const RecordLabel& label) {
  SMD_CHECK_OK(check_kind(Kind::events, "a tensor"));
  SMD_CHECK_OK(check_name(name));
  SMD_CHECK_OK(check_shape(name, tensor.shape, dtype_bytes(tensor.dtype)));
  if (is_string(tensor.dtype)) {
    SMD_CHECK_OK(check_strings(name, tensor.strings()));
  }
  const std::optional<std::uint32_t> number =
      label.is_quantized ? quantized_dtype_number(tensor.dtype)
                         : dtype_number(tensor.dtype);
  if (!number) {
    return invalid(
        fmt::format("tensor '{}' has dtype {}, which has no quantized form",
                    name, dtype_name(tensor.dtype)));
  }
  SMD_TRY(const auto lock, enter());
  std::array<char, 24> text;
  const auto written = file_.append(encoder_of(name, tensor, *number),
                                    stamp(label, text), tensor);
  if (!written) return latch(written.error());
  note(name, tensor.dtype, tensor.shape, *written, label);
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
  SMD_CHECK_OK(check_kind(Kind::events, "a shape"));
  SMD_CHECK_OK(check_name(name));
  SMD_CHECK_OK(check_shape(name, shape, 0));
  SMD_TRY(const auto lock, enter());
  if (!meta_) meta_ = Meta{step_of(label), false};
  index_.add_shape(json_string(name),
                   json_string(original_name.empty() ? name : original_name),
                   shape);
  return {};
}

Status FileWriter::Impl::check_kind(Kind kind, std::string_view what) const {
  if (options_.kind == kind) return {};
  return invalid(fmt::format(
      "{} cannot be written to '{}': it is a file {}", what, file_.key(),
      kind == Kind::events ? "for TensorBoard" : "of tensors"));
}

Status FileWriter::Impl::put(const std::string& record) {
  SMD_TRY(const auto lock, enter());
  const auto written = file_.append(record);
  if (!written) return latch(written.error());
  has_records_ = true;
  return {};
}

Status FileWriter::Impl::write_scalar_summary(std::string_view tag,
                                              double value,
                                              const SummaryLabel& label) {
  SMD_CHECK_OK(check_kind(Kind::tensorboard, "a summary"));
  SMD_CHECK_OK(check_name(tag));
  std::string record;
  append_scalar_record(clean_tag(tag), value, seconds_of(label.wall_seconds),
                       label.step.value_or(options_.step), record);
  return put(record);
}

Result<bool> FileWriter::Impl::write_histogram_summary(
    std::string_view tag, const TensorView& tensor, const SummaryLabel& label) {
  SMD_CHECK_OK(check_kind(Kind::tensorboard, "a summary"));
  SMD_CHECK_OK(check_name(tag));
  const bool has_numbers =
      dtype_bytes(tensor.dtype) != 0 && tensor.dtype != DType::boolean;
  const auto histogram =
      has_numbers ? histogram_of(tensor) : std::optional<Histogram>();
  if (!histogram) return false;
  std::string record;
  append_histogram_record(clean_tag(tag), *histogram,
                          seconds_of(label.wall_seconds),
                          label.step.value_or(options_.step), record);
  SMD_CHECK_OK(put(record));
  return true;
}

Status FileWriter::Impl::write_summary(std::string_view summary,
                                       const SummaryLabel& label) {
  SMD_CHECK_OK(check_kind(Kind::tensorboard, "a summary"));
  std::string record;
  append_summary_record(summary, seconds_of(label.wall_seconds),
                        label.step.value_or(options_.step), record);
  return put(record);
}

Status FileWriter::Impl::write_graph(std::string_view graph) {
  SMD_CHECK_OK(check_kind(Kind::tensorboard, "a graph"));
  std::string record;
  append_graph_record(graph, seconds_of({}), record);
  return put(record);
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
                             file_.key())}
        .with(Error::Detail::nothing_written);
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
  SMD_CHECK_OK(check_key(file_key(options)));
  WaitLimit limit = WaitLimit::from_environment(options.check_interrupt);
  if (options.storage_timeout.count() > 0)
    limit.at_most = options.storage_timeout;
  auto bounded = bounded_storage(std::move(run), std::move(limit));
  return std::unique_ptr<FileWriter>(new FileWriter(
      std::make_unique<Impl>(std::move(bounded), std::move(options))));
}

FileWriter::FileWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

FileWriter::~FileWriter() = default;

Status FileWriter::write_tensor(std::string_view name, const TensorView& tensor,
                                const RecordLabel& label) {
  return impl_->write_tensor(name, tensor, label);
}

Status FileWriter::write_shape(std::string_view name,
                               std::span<const std::int64_t> shape,
                               std::string_view original_name,
                               const RecordLabel& label) {
  return impl_->write_shape(name, shape, original_name, label);
}

Status FileWriter::write_scalar_summary(std::string_view tag, double value,
                                        const SummaryLabel& label) {
  return impl_->write_scalar_summary(tag, value, label);
}

Result<bool> FileWriter::write_histogram_summary(std::string_view tag,
                                                 const TensorView& tensor,
                                                 const SummaryLabel& label) {
  return impl_->write_histogram_summary(tag, tensor, label);
}

Status FileWriter::write_summary(std::string_view summary,
                                 const SummaryLabel& label) {
  return impl_->write_summary(summary, label);
}

Status FileWriter::write_graph(std::string_view graph) {
  return impl_->write_graph(graph);
}

Status FileWriter::flush() { return impl_->flush(); }

Status FileWriter::close() { return impl_->close(); }

Result<std::string> FileWriter::name() const { return impl_->name(); }

}  // namespace smdebug
