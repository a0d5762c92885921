#pragma once

// `FileWriter` writes one step of one worker, for programs that choose the
// tensors themselves: without hook, plan, thread or claim. It writes the two
// files that a session writes per step, an event file and an index file. A
// `Trial` reads a folder of them as a run.
//
//   auto writer = *FileWriter::create("runs/a", {.step = 7});
//   if (Status done = writer->write_tensor("w", view); !done) return done;
//   return writer->close();
//
// The first record creates the files with the suffix `.tmp`. `close` renames
// the event file first, then the index file. `FileReader` (read/file_reader.h)
// reads one event file.
//
// With `Kind::tensorboard` it writes a file for TensorBoard instead, which
// holds summaries and no tensors.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "smdebug/base/clock.h"
#include "smdebug/base/result.h"
#include "smdebug/base/wait_limit.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/tensor_view.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

struct FileWriterOptions {
  enum class Kind { events, tensorboard };

  Kind kind = Kind::events;
  Mode mode = Mode::global;  // names the folder of a file for TensorBoard
  Step step = 0;             // the global step of every record
  std::string worker = "worker_0";
  // Whether records end in their true checksum, which TFRecord tools verify,
  // instead of the constant that the original's Trial expects.
  bool write_checksum = false;
  const Clock* clock = nullptr;  // null: system_clock()
  // A call that waits for the storage longer than this fails with
  // `unavailable`; 0: as `WaitLimit::from_environment`.
  std::chrono::milliseconds storage_timeout{0};
  // Asked during waits of more than a second: true ends the wait, and the call
  // fails with `interrupted`. Null: never.
  std::function<bool()> check_interrupt = nullptr;
};

// The fields of a record beside its tensor.
struct RecordLabel {
  Mode mode = Mode::global;
  std::optional<Step> mode_step;       // none: the writer's step
  std::optional<double> wall_seconds;  // since the epoch; none: now
  // If false, only a `FileReader` finds the record.
  bool is_indexed = true;
  // Marks int8, uint8 or int16 elements as TensorFlow's qint8, quint8 or
  // qint16; they read back as integers.
  bool is_quantized = false;
};

// The fields of a summary beside its content.
struct SummaryLabel {
  std::optional<Step> step;            // none: the writer's step
  std::optional<double> wall_seconds;  // since the epoch; none: now
};

// Thread-safe; records are written in the order of the calls. After the first
// failure of the storage every call returns that failure, and nothing is
// published. In the child of a fork every call fails with `closed` and leaves
// the parent's files as they are.
class FileWriter {
 public:
  /// Creates a writer for the run at a path or address, without creating a file
  /// yet. Fails with `invalid_argument` for a negative step or a worker that
  /// cannot be part of a file name, and as `open_storage`.
  static Result<std::unique_ptr<FileWriter>> create(
      std::string_view run, FileWriterOptions options = {});
  static Result<std::unique_ptr<FileWriter>> create(
      std::shared_ptr<Storage> run, FileWriterOptions options = {});

  /// Without `close`, publishes nothing and removes the `.tmp` files.
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Appends a tensor of any dtype, strings included, with any strides, and
  /// reads its elements before it returns. Adds the record's position, checksum
  /// and statistics to the index file, which has one mode and mode step: those
  /// of its first tensor. If a name is written twice, readers get the last
  /// value. Fails with `invalid_argument` (an empty name, more than 2 GiB -
  /// 64 KiB or 255 dimensions, `is_quantized` with another dtype, a writer of
  /// `Kind::tensorboard`), `closed` or `io`.
  Status write_tensor(std::string_view name, const TensorView& tensor,
                      const RecordLabel& label = {});

  /// Adds a shape to the index file, without a value. `original_name` is the
  /// framework's name; empty: `name`. Uses only the mode and mode step of
  /// `label`, if the index file has no tensor. Fails with `invalid_argument` or
  /// `closed`.
  Status write_shape(std::string_view name, std::span<const std::int64_t> shape,
                     std::string_view original_name = {},
                     const RecordLabel& label = {});

  /// Appends a number, as float32. Characters of `tag` that TensorBoard does
  /// not accept become '_'. Fails with `invalid_argument` (an empty tag, a
  /// writer of `Kind::events`), `closed` or `io`.
  Status write_scalar_summary(std::string_view tag, double value,
                              const SummaryLabel& label = {});

  /// Appends the histogram of a tensor's elements, with TensorBoard's bucket
  /// limits. Returns false, and writes nothing, for strings, bools and tensors
  /// without an element inside the limits. Fails as `write_scalar_summary`.
  Result<bool> write_histogram_summary(std::string_view tag,
                                       const TensorView& tensor,
                                       const SummaryLabel& label = {});

  /// Appends an encoded tensorboard.Summary or tensorflow.GraphDef unchanged.
  /// Fails as `write_scalar_summary`.
  Status write_summary(std::string_view summary,
                       const SummaryLabel& label = {});
  Status write_graph(std::string_view graph);

  /// Passes everything written so far to the operating system, in the `.tmp`
  /// file. Fails with `io` or `closed`.
  Status flush();

  /// Publishes the event file, then the index file. A second call does nothing.
  /// Fails with `io`, after removing every file that was not published.
  Status close();

  /// Returns the path of the event file after `close`. Fails with `not_found`
  /// before the first record.
  Result<std::string> name() const;

 private:
  class Impl;
  explicit FileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
