#pragma once

// The limit of a wait for a storage. A file system whose server does not
// respond blocks a call forever; no call of smdebug that writes waits for it
// longer than this.

#include <chrono>
#include <functional>

namespace [[gnu::visibility("default")]] smdebug {

/// A storage that does not respond for this long has failed. SMDEBUG_STORAGE_
/// TIMEOUT replaces it, in seconds.
inline constexpr std::chrono::milliseconds kStorageTimeout{60000};

struct WaitLimit {
  std::chrono::milliseconds at_most = kStorageTimeout;
  /// Asked about every 50 ms, once a wait has taken a second: true ends the
  /// wait. Called on the waiting thread; null: nothing ends the wait earlier.
  std::function<bool()> check_interrupt = nullptr;

  /// Returns the limit of the environment, or `kStorageTimeout`.
  static WaitLimit from_environment(std::function<bool()> check_interrupt = {});
};

}  // namespace smdebug
