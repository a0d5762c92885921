#pragma once

// The storage of the write thread. Each call is counted as progress, so that
// other threads can tell a slow storage from one that does not respond. After
// the thread was abandoned, no call reaches the storage any more.

#include <atomic>
#include <chrono>
#include <memory>

#include "store/forwarding_storage.h"

namespace smdebug {

struct StorageWatch final : StorageHook {
  // The monotonic time of the last progress; 0 while nothing is written.
  std::atomic<std::chrono::nanoseconds> busy_since{};
  std::atomic<bool> is_abandoned = false;

  // Counts the call that follows. Fails if the thread was abandoned.
  Status enter(StorageCall call, std::string_view key) override;

  void note_progress();
  void note_idle() { busy_since = std::chrono::nanoseconds(0); }
};

// Returns `inner`, watched; null for null.
std::shared_ptr<Storage> watched_storage(std::shared_ptr<Storage> inner,
                                         std::shared_ptr<StorageWatch> watch);

}  // namespace smdebug
