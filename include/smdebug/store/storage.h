#pragma once

// `Storage` is where a run's files live: a folder on disk, an S3 prefix, or
// memory. Objects are created whole and never modified, so a reader needs no
// lock: an object that it can list is complete. Keys are relative to the run
// and use '/'; a key that would leave the run ("../x", "/x") is refused.
//
// Backends own parallelism, coalescing of ranges and part sizes. Every one of
// them passes tests/conformance/storage_suite.h. To open one from a path or
// URI, see `open_storage.h`.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace smdebug {

struct ByteRange {
  std::uint64_t start = 0;
  std::uint64_t length = UINT64_MAX;  // cut short at the object's end
};

// A part of one object.
struct ObjectRange {
  std::string key;
  ByteRange range;
};

// Bytes that were read: a copy or a mapping of the file, which lives as long
// as this does.
class Bytes {
 public:
  // Whether the bytes may change without the object noticing.
  enum class Kind { shared, own };

  Bytes() = default;
  Bytes(std::shared_ptr<const void> owner, std::span<const std::byte> span,
        Kind kind = Kind::shared)
      : owner_(std::move(owner)), span_(span), kind_(kind) {}

  std::span<const std::byte> span() const { return span_; }
  const std::byte* data() const { return span_.data(); }
  std::size_t size() const { return span_.size(); }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(span_.data()), span_.size()};
  }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  Kind kind() const { return kind_; }

  /// True where the bytes are a copy, or a mapping that copies what is written
  /// to, and nothing else holds them: whoever has them may write into them.
  bool is_writable() const {
    return kind_ == Kind::own && owner_.use_count() == 1;
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> span_;
  Kind kind_ = Kind::shared;
};

struct ObjectEntry {
  std::string key;
  std::uint64_t bytes = 0;
  // False for what stands in an object's place and is never read: a symbolic
  // link, a pipe, a device.
  bool is_file = true;
};

// One object on its way in. Used by one thread. Destroying it without
// `commit` is `abort`.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  /// Adds `parts` in their order. Fails with `io`; the object can then only be
  /// aborted.
  virtual Status append(std::span<const std::span<const std::byte>> parts) = 0;

  /// Makes the object visible, whole, replacing an older one of its key.
  /// Fails with `io`; nothing is visible then.
  virtual Status commit() = 0;

  /// Forgets what was appended. Leaves nothing behind.
  virtual void abort() = 0;
};

// One object, open for reading, for callers that come back to it. It must not
// outlive its storage. Safe to use from several threads.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;

  /// Returns the bytes of each range, in their order. Fails with `io`, and as
  /// `Storage::read` where the backend holds nothing open.
  virtual Result<std::vector<Bytes>> read(
      std::span<const ByteRange> ranges) const = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  /// The path or URI that users know this place by.
  virtual const std::string& uri() const = 0;

  /// Starts an object. Fails with `io` or `invalid_argument` (a bad key).
  /// Safe to call from several threads.
  virtual Result<std::unique_ptr<ObjectWriter>> create(
      std::string_view key) = 0;

  /// Stores `bytes` under `key` only if nothing is there; returns whether it
  /// did. Exactly one of several callers gets `true`. Fails with `io`.
  virtual Result<bool> create_exclusive(std::string_view key,
                                        std::span<const std::byte> bytes) = 0;

  /// Returns the bytes of each range, in their order. Symbolic links below the
  /// place are not followed. Safe to call from
  /// several threads. Fails with `not_found`, `io` or `invalid_argument`.
  virtual Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const = 0;

  /// Reads a part of each of many objects: in each place of the answer stands
  /// what `read` of that one range gives. Safe to call from several threads.
  virtual std::vector<Result<Bytes>> read_each(
      std::span<const ObjectRange> ranges) const;

  /// Opens an object that will be read more than once. What is read is the
  /// object as it was then, where the backend can hold it open; otherwise, and
  /// unless overridden, every read is one of this storage. Fails as `read`
  /// does; `not_found` may come from the first read instead.
  virtual Result<std::unique_ptr<ObjectReader>> open(
      std::string_view key) const;

  /// Returns a number that has changed when an object or a folder directly
  /// below `folder` (a key with '/' at its end) was added, replaced or removed
  /// since it was asked for last. None, unless overridden, and where that
  /// cannot be told for sure: the folder must then be listed. Ask before
  /// listing. Safe to call from several threads.
  virtual std::optional<std::uint64_t> folder_version(
      std::string_view folder) const;

  /// Returns the objects whose key starts with `prefix` and sorts after
  /// `after`, sorted by key as bytes. Unfinished objects are not listed;
  /// symbolic links are, as no files, and not followed. A place that does not
  /// exist lists nothing. Passing the last key seen makes polling a growing run
  /// cheap. Fails with `io`.
  virtual Result<std::vector<ObjectEntry>> list(
      std::string_view prefix, std::string_view after = {}) const = 0;

  /// True if `key` names a finished object. Fails with `io`.
  virtual Result<bool> exists(std::string_view key) const = 0;

  /// Removes `key`; removing what is not there succeeds. Fails with `io`.
  virtual Status remove(std::string_view key) = 0;
};

/// Creates or replaces a whole object. Fails as `create` and `commit` do.
Status put_object(Storage& storage, std::string_view key,
                  std::span<const std::byte> bytes);
Status put_object(Storage& storage, std::string_view key,
                  std::string_view text);

/// Returns all bytes of an object. Fails as `read` does.
Result<Bytes> get_object(const Storage& storage, std::string_view key);

}  // namespace smdebug
