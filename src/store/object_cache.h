#pragma once

// Copies of objects, or of parts of them, in a folder of this machine. Several
// processes may use one folder: an entry is written under another name and
// renamed, and has a checksum, so a reader finds all of it or nothing. Entries
// are removed by least recent use when there are too many bytes.
//
// It never fails: a folder that cannot be used causes one warning, and no entry
// is kept or found from then on. Safe to use from several threads.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "smdebug/base/logger.h"
#include "smdebug/store/storage.h"

namespace smdebug {

class ObjectCache {
 public:
  // Keeps its files in `parent`/smdebug-objects, which only this user can
  // enter, and touches no others. The folder is made with its first entry.
  // Entries take about `max_bytes`: each process may pass that by a sixteenth
  // before it removes some. `logger` lives at least as long as this.
  ObjectCache(const std::string& parent, std::uint64_t max_bytes,
              Logger& logger);

  // False once the folder could not be used.
  bool is_usable() const { return is_usable_; }

  // Returns the entry that was put for `name`, which has `bytes` bytes. Removes
  // it and returns nothing if it is damaged.
  std::optional<Bytes> find(std::string_view name, std::uint64_t bytes);

  // Keeps `bytes`, unless they would take more than an eighth of the limit.
  void put(std::string_view name, std::span<const std::byte> bytes);

 private:
  // Returns whether the folder exists. Fails with `io` if others can enter
  // it.
  Result<bool> has_folder();
  // Ends the use of the folder, with a warning.
  void give_up(const Error& error);
  Status write(const std::string& key, std::span<const std::byte> bytes);
  void note_written(std::uint64_t bytes);
  void remove_least_recent() const;

  const std::string folder_;
  const std::uint64_t max_bytes_;
  Logger& logger_;
  std::atomic<bool> is_usable_ = true;
  std::atomic<bool> is_checked_ = false;
  // Atomic numbers rather than a lock, which a forked process might inherit.
  std::atomic<std::uint64_t> uncounted_bytes_;
  std::atomic<bool> is_counting_ = false;
};

}  // namespace smdebug
