#pragma once

// A storage that stops responding: one operation on keys with a prefix blocks
// until the test releases it, as a file system whose server is gone does.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "store/forwarding_storage.h"

namespace smdebug {

inline constexpr StorageCall kStorageCalls[] = {
    StorageCall::create, StorageCall::append,           StorageCall::commit,
    StorageCall::abort,  StorageCall::create_exclusive, StorageCall::read,
    StorageCall::list,   StorageCall::exists,           StorageCall::remove,
    StorageCall::move,
};

// Blocks the calls that it sees while it is closed.
class HangingGate final : public StorageHook {
 public:
  Status enter(StorageCall made, std::string_view key) override {
    std::unique_lock lock(mutex_);
    if (!is_closed_ || made != call_ || !key.starts_with(prefix_)) return {};
    has_hung_ = true;
    ++hanging_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_closed_; });
    --hanging_;
    changed_.notify_all();
    return {};
  }

  void close(StorageCall call, std::string prefix) {
    const std::lock_guard lock(mutex_);
    call_ = call;
    prefix_ = std::move(prefix);
    is_closed_ = true;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_closed_ = false;
    changed_.notify_all();
  }
  void wait_for(bool is_hanging) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return (hanging_ > 0) == is_hanging; });
  }
  bool has_hung() {
    const std::lock_guard lock(mutex_);
    return has_hung_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  StorageCall call_ = StorageCall::create;
  std::string prefix_;
  bool is_closed_ = false;
  bool has_hung_ = false;
  int hanging_ = 0;
};

class HangingStorage final : public ForwardingStorage {
 public:
  explicit HangingStorage(std::shared_ptr<Storage> inner)
      : HangingStorage(std::move(inner), std::make_shared<HangingGate>()) {}
  // Releases what still hangs.
  ~HangingStorage() override { release(); }

  // Every `call` on a key that starts with `prefix` blocks from now on.
  void hang_at(StorageCall call, std::string prefix = "") {
    gate_->close(call, std::move(prefix));
  }
  void release() { gate_->open(); }
  // Blocks until a call hangs.
  void wait_for_hang() const { gate_->wait_for(true); }
  // Blocks until no call hangs any more.
  void wait_for_release() const { gate_->wait_for(false); }
  bool has_hung() const { return gate_->has_hung(); }

 private:
  HangingStorage(std::shared_ptr<Storage> inner,
                 std::shared_ptr<HangingGate> gate)
      : ForwardingStorage(std::move(inner), gate), gate_(std::move(gate)) {}

  const std::shared_ptr<HangingGate> gate_;
};

}  // namespace smdebug
