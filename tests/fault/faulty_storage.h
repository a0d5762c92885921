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

#include "store/forwarding_storage.h"

namespace smdebug {

class Faults final : public StorageHook {
 public:
  void fail_with(std::string reason, std::string prefix) {
    const std::lock_guard lock(mutex_);
    reason_ = std::move(reason);
    prefix_ = std::move(prefix);
  }
  void throw_at_event_files() { throws_ = true; }
  void hold(bool is_held) {
    const std::lock_guard lock(mutex_);
    is_held_ = is_held;
    moved_.notify_all();
  }

  Status enter(StorageCall call, std::string_view key) override {
    using enum StorageCall;
    const bool is_write = call == create || call == append || call == commit ||
                          call == create_exclusive;
    if (!is_write) return {};
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return !is_held_; });
    if (!reason_.empty() && key.starts_with(prefix_))
      return Error{Error::Code::io, reason_};
    if (throws_ && call == create && key.starts_with("events/"))
      throw std::bad_alloc();
    return {};
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::string reason_, prefix_;
  std::atomic<bool> throws_ = false;
  bool is_held_ = false;
};

class FaultyStorage final : public ForwardingStorage {
 public:
  explicit FaultyStorage(std::shared_ptr<Storage> inner)
      : FaultyStorage(std::move(inner), std::make_shared<Faults>()) {}

  // Makes every write to a key that starts with `prefix` fail with `io` and
  // `reason` from now on.
  void fail_with(std::string reason, std::string prefix = "") {
    faults_->fail_with(std::move(reason), std::move(prefix));
  }
  // Makes `create` throw for event files from now on, as a library may.
  void throw_at_event_files() { faults_->throw_at_event_files(); }
  // Blocks all writes until `let_go` is called.
  void hold() { faults_->hold(true); }
  void let_go() { faults_->hold(false); }

 private:
  FaultyStorage(std::shared_ptr<Storage> inner, std::shared_ptr<Faults> faults)
      : ForwardingStorage(std::move(inner), faults),
        faults_(std::move(faults)) {}

  const std::shared_ptr<Faults> faults_;
};

}  // namespace smdebug
