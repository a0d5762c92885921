#pragma once

// `FileReader` reads one event file from start to end, without the rest of the
// run: for tools, and for files whose index is lost. It skips, counts and
// reports damaged bytes and continues with the next intact record. `Trial`
// (trial.h) reads a whole run.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/mode.h"
#include "smdebug/read/tensor.h"
#include "smdebug/store/storage.h"

namespace [[gnu::visibility("default")]] smdebug {

class FileWindow;
class NameFilter;

// The checks that a record must pass. `minimal`: the checksum of its length,
// and either the constant word that event files have in place of the message's
// checksum or that checksum. `full`: both checksums, which event files have
// only if they were written with `Checksum::crc32c`. `none`: no check.
enum class RecordCheck { none, minimal, full };

struct FileTensor {
  std::string name;  // the record's tag; tags of reductions are mangled
  StepId step;
  double wall_seconds = 0;  // since the epoch
  TensorValue value;
};

// A range of the file that was skipped.
struct SkippedBytes {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
  std::string what;  // the reason, one sentence
};

// Not thread-safe.
class FileReader {
 public:
  /// Opens the event file at `path`, for example
  /// "runs/a/events/000000000007/..." or an address of one. Fails as
  /// `open_storage` and `Storage::read`.
  static Result<FileReader> open(std::string_view path,
                                 RecordCheck check = RecordCheck::minimal);
  /// `run` must outlive the reader.
  static Result<FileReader> open(const Storage& run, std::string_view key,
                                 RecordCheck check = RecordCheck::minimal);

  /// Restricts `next` to tensors whose name matches one of `patterns`, as
  /// Python's `re.search` does. Fails with `invalid_argument` for a pattern
  /// that does not compile.
  Status select(const std::vector<std::string>& patterns);

  /// Returns the next tensor, or none at the end. Its value belongs to the
  /// caller. Fails with `unsupported` (`not_a_tensor`) for an intact record
  /// that holds no tensor or an unknown dtype; the next call continues after
  /// that record. Fails with `corrupt` once, at the end of a file that has
  /// bytes but no intact record, and with `io`.
  Result<std::optional<FileTensor>> next();

  /// Return the number of ranges skipped so far, and the first 20 of them.
  std::uint64_t skipped_count() const { return skipped_count_; }
  const std::vector<SkippedBytes>& skipped() const { return skipped_; }

 private:
  FileReader(std::string path, std::shared_ptr<FileWindow> file,
             RecordCheck check)
      : path_(std::move(path)), file_(std::move(file)), check_(check) {}

  static Result<FileReader> open(std::shared_ptr<const Storage> run,
                                 std::string_view key, RecordCheck check);
  Result<std::optional<FileTensor>> next_tensor();
  Result<std::optional<std::span<const std::byte>>> next_record();
  Result<std::uint64_t> find_record(std::uint64_t from);
  Status check_word(std::span<const std::byte> record) const;
  void skip(std::uint64_t start, std::uint64_t end, std::string what);
  Error no_intact_record();

  std::string path_;
  std::shared_ptr<FileWindow> file_;
  RecordCheck check_;
  std::shared_ptr<const NameFilter> filter_;  // null: every name
  std::uint64_t at_ = 0;
  bool has_intact_record_ = false;
  std::uint64_t skipped_count_ = 0;
  std::vector<SkippedBytes> skipped_;
};

}  // namespace smdebug
