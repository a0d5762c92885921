#pragma once

// A storage for fault injection. It forwards all calls to another storage until
// a test makes its writes fail, throw or block.

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "smdebug/base/try.h"

#include "tests/support/forwarding_storage_testing.h"

namespace smdebug {

class FaultyStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;

  // Makes every write to a key that starts with `prefix` fail with `io` and
  // `reason` from now on.
  void fail_with(std::string reason, std::string prefix = "") {
    std::lock_guard lock(mutex_);
    reason_ = std::move(reason);
    prefix_ = std::move(prefix);
  }
  // Makes `create` throw for event files from now on, as a library may.
  void throw_at_event_files() { throws_ = true; }
  // Blocks all writes until `let_go` is called.
  void hold() {
    std::lock_guard lock(mutex_);
    is_held_ = true;
  }
  void let_go() {
    std::lock_guard lock(mutex_);
    is_held_ = false;
    moved_.notify_all();
  }

  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_CHECK_OK(meet(key));
    if (throws_ && key.starts_with("events/")) throw std::bad_alloc();
    SMD_TRY(auto writer, ForwardingStorage::create(key));
    return std::unique_ptr<ObjectWriter>(
        new Writer(*this, std::string(key), std::move(writer)));
  }
  Result<std::unique_ptr<ObjectLog>> create_log(std::string_view key) override {
    SMD_CHECK_OK(meet(key));
    SMD_TRY(auto log, ForwardingStorage::create_log(key));
    if (!log) return log;
    return std::unique_ptr<ObjectLog>(
        new Log(*this, std::string(key), std::move(log)));
  }
  Result<bool> create_exclusive(std::string_view key,
                                std::span<const std::byte> bytes) override {
    SMD_CHECK_OK(meet(key));
    return ForwardingStorage::create_exclusive(key, bytes);
  }

 private:
  class Writer : public ObjectWriter {
   public:
    Writer(FaultyStorage& storage, std::string key,
           std::unique_ptr<ObjectWriter> inner)
        : storage_(storage), key_(std::move(key)), inner_(std::move(inner)) {}
    Status append(std::span<const std::span<const std::byte>> parts) override {
      SMD_CHECK_OK(storage_.meet(key_));
      return inner_->append(parts);
    }
    Status commit() override {
      SMD_CHECK_OK(storage_.meet(key_));
      return inner_->commit();
    }
    void abort() override { inner_->abort(); }

   private:
    FaultyStorage& storage_;
    const std::string key_;
    std::unique_ptr<ObjectWriter> inner_;
  };

  class Log : public ObjectLog {
   public:
    Log(FaultyStorage& storage, std::string key,
        std::unique_ptr<ObjectLog> inner)
        : storage_(storage), key_(std::move(key)), inner_(std::move(inner)) {}
    Status append(std::span<const std::byte> bytes) override {
      SMD_CHECK_OK(storage_.meet(key_));
      return inner_->append(bytes);
    }

   private:
    FaultyStorage& storage_;
    const std::string key_;
    std::unique_ptr<ObjectLog> inner_;
  };

  Status meet(std::string_view key) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return !is_held_; });
    if (!reason_.empty() && key.starts_with(prefix_))
      return Error{Error::Code::io, reason_};
    return {};
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  std::string reason_, prefix_;
  std::atomic<bool> throws_ = false;
  bool is_held_ = false;
};

}  // namespace smdebug
