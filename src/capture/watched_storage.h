#pragma once

// The storage of the write thread. Each call is counted as progress, so that
// other threads can tell a slow storage from one that does not respond, and can
// name the call that does not return. After the thread was abandoned, no call
// reaches the storage any more.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "store/forwarding_storage.h"

namespace smdebug {

class StorageWatch {
 public:
  // The monotonic time of the last progress; 0 while nothing is written.
  std::atomic<std::chrono::nanoseconds> busy_since{};
  std::atomic<bool> is_abandoned = false;

  // Counts and keeps the call that follows. Fails if the thread was abandoned.
  Status enter(StorageCall call, const std::string& uri, std::string_view key);

  void note_progress();
  void note_idle() { busy_since = std::chrono::nanoseconds(0); }

  // Returns the last call that was entered: "write 'events/a' in '/runs/b'".
  std::string last_call() const;

 private:
  // Locked once per call of the storage, never inside a training step.
  mutable std::mutex mutex_;
  StorageCall call_ = StorageCall::create;
  std::string uri_;
  std::string key_;
};

// Returns `inner`, watched; null for null.
std::shared_ptr<Storage> watched_storage(std::shared_ptr<Storage> inner,
                                         std::shared_ptr<StorageWatch> watch);

}  // namespace smdebug
