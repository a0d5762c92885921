#pragma once

// A storage that stops responding: one operation on keys with a prefix blocks
// until the test releases it, as a file system whose server is gone does.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/try.h"

#include "tests/support/forwarding_storage_testing.h"

namespace smdebug {

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
};

inline constexpr StorageCall kStorageCalls[] = {
    StorageCall::create, StorageCall::append,           StorageCall::commit,
    StorageCall::abort,  StorageCall::create_exclusive, StorageCall::read,
    StorageCall::list,   StorageCall::exists,           StorageCall::remove,
    StorageCall::move,
};

class HangingStorage : public ForwardingStorage {
 public:
  explicit HangingStorage(std::shared_ptr<Storage> inner)
      : ForwardingStorage(std::move(inner)), gate_(std::make_shared<Gate>()) {}
  // Releases what still hangs.
  ~HangingStorage() override { release(); }

  // Every `call` on a key that starts with `prefix` blocks from now on.
  void hang_at(StorageCall call, std::string prefix = "") {
    const std::lock_guard lock(gate_->mutex);
    gate_->call = call;
    gate_->prefix = std::move(prefix);
    gate_->is_closed = true;
  }
  void release() { gate_->open(); }
  // Blocks until a call hangs.
  void wait_for_hang() const {
    std::unique_lock lock(gate_->mutex);
    gate_->changed.wait(lock, [&] { return gate_->hanging > 0; });
  }
  // Blocks until no call hangs any more.
  void wait_for_release() const {
    std::unique_lock lock(gate_->mutex);
    gate_->changed.wait(lock, [&] { return gate_->hanging == 0; });
  }
  bool has_hung() const {
    const std::lock_guard lock(gate_->mutex);
    return gate_->has_hung;
  }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    gate_->pass(StorageCall::create, key);
    SMD_TRY(auto writer, ForwardingStorage::create(key));
    return std::unique_ptr<ObjectWriter>(
        new Writer(gate_, std::string(key), std::move(writer)));
  }
  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override {
    gate_->pass(StorageCall::create, key);
    SMD_TRY(auto log, ForwardingStorage::create_log(key));
    if (!log) return log;
    return std::unique_ptr<ObjectLog>(
        new Log(gate_, std::string(key), std::move(log)));
  }
  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    gate_->pass(StorageCall::create_exclusive, key);
    return ForwardingStorage::create_exclusive(key, bytes);
  }
  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    gate_->pass(StorageCall::read, key);
    return ForwardingStorage::read(key, ranges);
  }
  Result<std::vector<ObjectEntry>> list(std::string_view prefix,
                                        std::string_view after) const override {
    gate_->pass(StorageCall::list, prefix);
    return ForwardingStorage::list(prefix, after);
  }
  Result<bool> exists(std::string_view key) const override {
    gate_->pass(StorageCall::exists, key);
    return ForwardingStorage::exists(key);
  }
  Status remove(std::string_view key) override {
    gate_->pass(StorageCall::remove, key);
    return ForwardingStorage::remove(key);
  }
  Status move(std::string_view from, std::string_view to) override {
    gate_->pass(StorageCall::move, from);
    return ForwardingStorage::move(from, to);
  }

 private:
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    StorageCall call = StorageCall::create;
    std::string prefix;
    bool is_closed = false;
    bool has_hung = false;
    int hanging = 0;

    void pass(StorageCall made, std::string_view key) {
      std::unique_lock lock(mutex);
      if (!is_closed || made != call || !key.starts_with(prefix)) return;
      has_hung = true;
      ++hanging;
      changed.notify_all();
      changed.wait(lock, [&] { return !is_closed; });
      --hanging;
      changed.notify_all();
    }
    void open() {
      const std::lock_guard lock(mutex);
      is_closed = false;
      changed.notify_all();
    }
  };

  class Writer : public ObjectWriter {
   public:
    Writer(std::shared_ptr<Gate> gate, std::string key,
           std::unique_ptr<ObjectWriter> inner)
        : gate_(std::move(gate)),
          key_(std::move(key)),
          inner_(std::move(inner)) {}
    Status append(std::span<const std::span<const std::byte>> parts) override {
      gate_->pass(StorageCall::append, key_);
      return inner_->append(parts);
    }
    Status commit() override {
      gate_->pass(StorageCall::commit, key_);
      return inner_->commit();
    }
    void abort() override {
      gate_->pass(StorageCall::abort, key_);
      inner_->abort();
    }

   private:
    const std::shared_ptr<Gate> gate_;
    const std::string key_;
    const std::unique_ptr<ObjectWriter> inner_;
  };

  class Log : public ObjectLog {
   public:
    Log(std::shared_ptr<Gate> gate, std::string key,
        std::unique_ptr<ObjectLog> inner)
        : gate_(std::move(gate)),
          key_(std::move(key)),
          inner_(std::move(inner)) {}
    Status append(std::span<const std::byte> bytes) override {
      gate_->pass(StorageCall::append, key_);
      return inner_->append(bytes);
    }

   private:
    const std::shared_ptr<Gate> gate_;
    const std::string key_;
    const std::unique_ptr<ObjectLog> inner_;
  };

  const std::shared_ptr<Gate> gate_;
};

}  // namespace smdebug
