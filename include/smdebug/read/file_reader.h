#pragma once

// `FileReader` reads one event file from its start to its end, without the run
// around it: for tools, and for files that lost their index. What is damaged is
// skipped, counted and told; the records behind it are found again. A whole run
// is read by `Trial` (trial.h).

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

namespace smdebug {

class NameFilter;

// Which checksums a record must have. `minimal`: that of its length, and the
// word that event files have in place of the message's, or the message's own.
// `full`: both true; event files have it only where they were written so.
// `none`: neither is looked at.
enum class RecordCheck { none, minimal, full };

struct FileTensor {
  std::string name;  // the tag, reductions mangled
  StepId step;
  double wall_seconds = 0;
  TensorValue value;
};

// A stretch of the file that was left out.
struct SkippedBytes {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;
  std::string what;  // one sentence
};

class FileReader {
 public:
  /// Opens the event file at `path`: "runs/a/events/000000000007/...". Fails as
  /// `open_storage` and `Storage::read`.
  static Result<FileReader> open(std::string_view path,
                                 RecordCheck check = RecordCheck::minimal);
  static Result<FileReader> open(const Storage& run, std::string_view key,
                                 RecordCheck check = RecordCheck::minimal);

  /// Restricts `next` to tensors whose name one of `patterns` finds. Fails with
  /// `invalid_argument` for a pattern that does not compile.
  Status select(const std::vector<std::string>& patterns);

  /// Returns the next tensor, or none at the end. Its value may point into the
  /// file and keeps it alive. Fails with `unsupported` (`not_a_tensor`) for an
  /// intact record that holds no tensor or an unknown dtype; the next call
  /// continues after that record. Fails with `corrupt` once, at the end of a
  /// file that has bytes but no intact record.
  Result<std::optional<FileTensor>> next();

  /// How many stretches were skipped so far, and the first 20 of them.
  std::uint64_t skipped_count() const { return skipped_count_; }
  const std::vector<SkippedBytes>& skipped() const { return skipped_; }

 private:
  FileReader(std::string path, Bytes file, RecordCheck check)
      : path_(std::move(path)), file_(std::move(file)), check_(check) {}

  Result<std::optional<FileTensor>> next_tensor();
  std::optional<std::span<const std::byte>> next_record();
  Status check_word(std::span<const std::byte> record) const;
  void skip(std::uint64_t start, std::uint64_t end, std::string what);
  Error nothing_sound();

  std::string path_;
  Bytes file_;
  RecordCheck check_;
  std::shared_ptr<const NameFilter> filter_;  // null: every name
  std::uint64_t at_ = 0;
  bool has_sound_record_ = false;
  std::uint64_t skipped_count_ = 0;
  std::vector<SkippedBytes> skipped_;
};

}  // namespace smdebug
