#pragma once

// A storage that passes every call on to another one, after a `StorageHook` has
// seen it. Folder versions and open readers are not passed on: the defaults of
// `Storage` serve them, so that the hook sees each read.
//
// Test doubles that change what a call does derive from it instead.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/store/storage.h"

namespace smdebug {

// The calls of a storage and of the objects that it creates. `create` includes
// `create_log`, and `read` includes `read_whole`.
enum class StorageCall {
  create,
  append,
  commit,
  abort,
  create_exclusive,
  read,
  list,
  exists,
  remove,
  move,
  settle,
};

// Returns the call as an error message names it: "write 'events/a'".
std::string call_text(StorageCall call, std::string_view key);

// Shared by a storage and its writers. Used by every thread that makes calls.
class StorageHook {
 public:
  virtual ~StorageHook() = default;

  // Called before each call; `key` is its key, or its prefix. If this fails,
  // the call fails with the same error.
  virtual Status enter(StorageCall call, std::string_view key) = 0;
};

class ForwardingStorage : public Storage {
 public:
  // `hook` may be null.
  explicit ForwardingStorage(std::shared_ptr<Storage> inner,
                             std::shared_ptr<StorageHook> hook = nullptr);

  const std::string& uri() const override { return inner_->uri(); }
  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override;
  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override;
  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override;
  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override;
  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override;
  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override;
  Result<bool> exists(std::string_view key) const override;
  Status remove(std::string_view key) override;
  Status move(std::string_view from, std::string_view to) override;
  bool is_remote() const override { return inner_->is_remote(); }
  Result<bool> settle() override;

 private:
  Status enter(StorageCall call, std::string_view key) const {
    return hook_ ? hook_->enter(call, key) : Status();
  }

  const std::shared_ptr<Storage> inner_;
  const std::shared_ptr<StorageHook> hook_;
};

}  // namespace smdebug
