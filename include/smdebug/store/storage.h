#pragma once

// `Storage` holds the files of a run: a folder on disk, an S3 prefix, or
// memory. Objects are created whole and never modified, so readers need no
// lock: every object that is listed is complete. Keys are relative to the run
// and use '/'; keys that would leave the run ("../x", "/x") are refused.
//
// Backends handle parallelism, coalescing of ranges and part sizes. All of them
// pass tests/conformance/storage_suite.h. To open one from a path or URI, see
// `open_storage.h`.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"

namespace [[gnu::visibility("default")]] smdebug {

struct ByteRange {
  std::uint64_t start = 0;
  std::uint64_t length = UINT64_MAX;  // cut short at the object's end
};

// A part of one object.
struct ObjectRange {
  std::string key;
  ByteRange range;
};

// An object that gets another key.
struct ObjectMove {
  std::string from, to;
};

// Bytes that were read. A copy, so they stay as they are if the file is
// replaced, shortened or overwritten.
class Bytes {
 public:
  // Whether the bytes may change unnoticed.
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

  /// True if the bytes are a copy with no other owner: the owner may modify
  /// them.
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
  // False for entries that are not objects and are never read: a symbolic link,
  // a pipe, a device, a folder that cannot be listed.
  bool is_file = true;
};

// An object that is being written. Used by one thread. Destroying it without
// `commit` is `abort`.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;

  /// Appends `parts` in order. After failing with `io`, the object can only be
  /// aborted.
  virtual Status append(std::span<const std::span<const std::byte>> parts) = 0;

  /// Publishes the whole object, replacing an older one with its key. Fails
  /// with `io`; nothing is visible then.
  virtual Status commit() = 0;

  /// Discards everything that was appended.
  virtual void abort() = 0;
};

// An object that grows, and that readers see while it does. Used by one thread.
// Destroying it ends it.
class ObjectLog {
 public:
  virtual ~ObjectLog() = default;

  /// Appends `bytes`. After failing with `io`, the object has none of them,
  /// unless the process or the machine ends in the middle of the call.
  virtual Status append(std::span<const std::byte> bytes) = 0;
};

// An object open for reading, for repeated reads. It must not outlive its
// storage. Safe to use from several threads.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;

  /// Returns the bytes of each range, in order. Fails with `io`, and like
  /// `Storage::read` if the backend holds nothing open.
  virtual Result<std::vector<Bytes>> read(
      std::span<const ByteRange> ranges) const = 0;
};

class Storage {
 public:
  virtual ~Storage() = default;

  /// Returns the path or URI that users know this storage by.
  virtual const std::string& uri() const = 0;

  /// Starts an object. Fails with `io` or `invalid_argument` (a bad key).
  /// Safe to call from several threads.
  virtual Result<std::unique_ptr<ObjectWriter>> create(
      std::string_view key) = 0;

  /// Starts an object that grows, for readers that follow it, such as
  /// TensorBoard. Null by default: the backend has only whole objects. Fails
  /// with `io`, also if the key is not free, or `invalid_argument`.
  virtual Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key);

  /// Stores `bytes` under `key` only if the key is free; returns whether it
  /// did. Exactly one of several callers gets `true`. Fails with `io`.
  virtual Result<bool> create_exclusive(std::string_view key,
                                        std::span<const std::byte> bytes) = 0;

  /// Returns the bytes of each range, in order. Does not follow symbolic links
  /// inside the storage. Safe to call from several threads. Fails with
  /// `not_found`, `io` or `invalid_argument`.
  virtual Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const = 0;

  /// Returns all bytes of an object. Fails like `read`, and with `io` if there
  /// are more than `max_bytes`; reads none of them then.
  virtual Result<Bytes> read_whole(std::string_view key,
                                   std::uint64_t max_bytes) const;

  /// Reads one range of each of many objects. Each result is that of `read`
  /// with this range. Safe to call from several threads.
  virtual std::vector<Result<Bytes>> read_each(
      std::span<const ObjectRange> ranges) const;

  /// Opens an object for more than one read. Reads return the object as of this
  /// call if the backend can hold it open; otherwise, and by default, each is a
  /// read of this storage. Fails like `read`; `not_found` may be reported by
  /// the first read instead.
  virtual Result<std::unique_ptr<ObjectReader>> open(
      std::string_view key) const;

  /// The version of a folder that does not exist.
  static constexpr std::uint64_t kNoFolder = 0;

  /// Returns a number that changes when an object or folder directly below
  /// `folder` (a key that ends with '/') is added, replaced or removed.
  /// None by default, and if this cannot be guaranteed: the folder must
  /// then be listed. Call it before listing. Safe to call from several
  /// threads.
  virtual std::optional<std::uint64_t> folder_version(
      std::string_view folder) const;

  /// Returns the objects whose key starts with `prefix` and sorts after
  /// `after`, sorted by the bytes of their key. Omits unfinished objects. Lists
  /// symbolic links, and folders below the one of `prefix` that cannot be
  /// listed, not as files, and does not follow them. A missing storage is
  /// empty. Pass the last key seen to poll a growing run cheaply. Fails with
  /// `io`, also if `check_folder` fails for the folder of `prefix`.
  virtual Result<std::vector<ObjectEntry>> list(
      std::string_view prefix, std::string_view after = {}) const = 0;

  /// Returns the names directly below `folder` (empty, or a key that ends with
  /// '/'), sorted; those of folders end with '/'. Fails like `list`, of which
  /// the default makes use.
  virtual Result<std::vector<std::string>> names_in(
      std::string_view folder) const;

  /// Succeeds if `folder` (a key that ends with '/') is missing or can be
  /// listed. Otherwise fails with `io` and the reason, for example if it is a
  /// link or a file. Succeeds by default: only a file system has such folders.
  virtual Status check_folder(std::string_view folder) const;

  /// True if `key` names a finished object. Fails with `io`.
  virtual Result<bool> exists(std::string_view key) const = 0;

  /// Removes `key`; succeeds if it does not exist. Fails with `io`.
  virtual Status remove(std::string_view key) = 0;

  /// Gives the object `from` the key `to`, replacing an older object with that
  /// key; succeeds if `from` does not exist. Fails with `io`.
  virtual Status move(std::string_view from, std::string_view to) = 0;

  /// Moves many objects, in this order as far as others can see. Fails like
  /// `move`; some of them are moved then. A backend may do it at once.
  virtual Status move_each(std::span<const ObjectMove> moves);

  /// True if calls are requests over a network. False by default.
  virtual bool is_remote() const { return false; }

  /// Returns whether every object that was committed is published. If `commit`
  /// returns before that, waits until one more of them is; fails with the error
  /// of the first that could not be. By default, `commit` has published it.
  virtual Result<bool> settle() { return true; }
};

/// Creates or replaces a whole object. Fails as `create` and `commit` do.
Status put_object(Storage& storage, std::string_view key,
                  std::span<const std::byte> bytes);
Status put_object(Storage& storage, std::string_view key,
                  std::string_view text);

/// The largest object that is read into memory at once. An index file of a
/// million tensors is smaller.
inline constexpr std::uint64_t kMaxObjectBytes = std::uint64_t{512} << 20;

/// Returns all bytes of an object. Fails as `Storage::read_whole` does.
Result<Bytes> get_object(const Storage& storage, std::string_view key,
                         std::uint64_t max_bytes = kMaxObjectBytes);

}  // namespace smdebug
