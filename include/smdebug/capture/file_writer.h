#pragma once

// `FileWriter` writes one step of one worker, for programs that decide for
// themselves what is saved: no hook, no plan, no thread, no claim. It makes the
// two files that a session makes of a step, an event file and an index file; a
// `Trial` reads a folder of them as a run once there is a collections file.
//
//   auto writer = *FileWriter::create("runs/a", {.step = 7});
//   SMD_CHECK_OK(writer->write_tensor("w", view));
//   SMD_CHECK_OK(writer->close());
//
// Files appear with the first record, as `.tmp`, and under their names when the
// writer is closed: the event file first, then the index file.
// `read/file_reader.h` reads one event file.
//
// With `Kind::tensorboard` it writes a file for TensorBoard instead: summaries,
// and no tensors.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

namespace smdebug {

struct FileWriterOptions {
  enum class Kind { events, tensorboard };

  Kind kind = Kind::events;
  Mode mode = Mode::global;  // the folder of a file for TensorBoard
  Step step = 0;             // the global step of every record
  std::string worker = "worker_0";
  // The checksum word of a record: the true one, which TFRecord tools verify,
  // instead of the constant that the original's Trial asks for.
  bool write_checksum = false;
  const Clock* clock = nullptr;  // null: system_clock()
};

// What a record says beside its tensor.
struct RecordLabel {
  Mode mode = Mode::global;
  std::optional<Step> mode_step;       // none: the writer's step
  std::optional<double> wall_seconds;  // since the epoch; none: now
  // Without an entry in the index file only a `FileReader` finds the record.
  bool is_indexed = true;
  // Elements of int8, uint8 or int16 are those of TensorFlow's qint8, quint8
  // or qint16; they read back as the integers.
  bool is_quantized = false;
};

// What a summary says beside its content.
struct SummaryLabel {
  std::optional<Step> step;            // none: the writer's step
  std::optional<double> wall_seconds;  // since the epoch; none: now
};

// Safe to call from several threads; the records are in the order of the calls.
// After the first failure of the storage every call returns that failure, and
// nothing is published. In the child of a fork every call fails with `closed`,
// and the parent's files are left alone.
class FileWriter {
 public:
  /// Opens no file. Fails with `invalid_argument` for a negative step or a
  /// worker that cannot be part of a file's name, and as `open_storage`.
  static Result<std::unique_ptr<FileWriter>> create(
      std::string_view run, FileWriterOptions options = {});
  static Result<std::unique_ptr<FileWriter>> create(
      std::shared_ptr<Storage> run, FileWriterOptions options = {});

  /// Without `close` nothing is published and the `.tmp` file is removed.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Appends a record of any dtype, strings too, with any strides; the elements
  /// are read before this returns. The index gets the record's place, its
  /// checksum and its statistics. The index file has one mode and mode step for
  /// all, those of the first tensor in it. A name that comes again counts the
  /// last time. Fails with `invalid_argument` (no name, more than 2 GiB - 64
  /// KiB or 255 dimensions, quantized elements of another dtype, a writer of
  /// TensorBoard's files), `closed` or `io`.
  Status write_tensor(std::string_view name, const TensorView& tensor,
                      const RecordLabel& label = {});

  /// Notes a shape in the index, without a value. `original_name` is the
  /// framework's own; empty: `name`. Of `label` the mode and the mode step are
  /// used, where the index file has no tensor. Fails with `invalid_argument` or
  /// `closed`.
  Status write_shape(std::string_view name, std::span<const std::int64_t> shape,
                     std::string_view original_name = {},
                     const RecordLabel& label = {});

  /// Appends a number, kept as float32, under a tag; characters that
  /// TensorBoard does not take become '_'. Fails with `invalid_argument` (no
  /// tag, a writer of event files), `closed` or `io`.
  Status write_scalar_summary(std::string_view tag, double value,
                              const SummaryLabel& label = {});

  /// Appends the histogram of a tensor's elements, counted between
  /// TensorBoard's own edges. False where there is nothing to draw, and nothing
  /// was written: strings, bools, no number between the outermost edges. Fails
  /// as `write_scalar_summary`.
  Result<bool> write_histogram_summary(std::string_view tag,
                                       const TensorView& tensor,
                                       const SummaryLabel& label = {});

  /// Appends an encoded tensorboard.Summary, or tensorflow.GraphDef, as it is.
  /// Fails as `write_scalar_summary`.
  Status write_summary(std::string_view summary,
                       const SummaryLabel& label = {});
  Status write_graph(std::string_view graph);

  /// Hands what was written to the operating system, in the `.tmp` file. Fails
  /// with `io` or `closed`.
  Status flush();

  /// Publishes the event file, then the index file. A second call does nothing.
  /// Fails with `io`; what is not published then is removed.
  Status close();

  /// Where the event file is once the writer is closed. Fails with
  /// `not_found` before the first record.
  Result<std::string> name() const;

 private:
  class Impl;
  explicit FileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
