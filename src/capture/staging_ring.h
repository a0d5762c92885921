#pragma once

// The memory between the training step and the write thread: a log of messages
// in one mapped ring. One thread reserves and publishes, another one reads and
// releases; neither takes a lock.
//
// Whenever the reader has caught up, the writer restarts at the beginning of
// the ring, so that a run with small steps works in cache-warm memory even if
// the ring is large. A page is allocated on its first use and then kept.
//
// Positions count bytes since the ring was created and never decrease; a
// position modulo the size is an offset in the ring.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "smdebug/base/result.h"

namespace smdebug {

class StagingRing {
 public:
  // Messages and payloads start on cache lines, as streaming stores require.
  static constexpr std::size_t kAlignment = 64;

  // Creates a ring of `bytes`, rounded up to whole pages. Fails with `io` if
  // the memory cannot be mapped.
  static Result<std::unique_ptr<StagingRing>> create(std::size_t bytes);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  std::size_t bytes() const { return bytes_; }

  // --- the writing side ---

  // Returns `bytes` of contiguous memory, or null if they are not free now. At
  // most half of the ring can be requested.
  std::byte* try_reserve(std::size_t bytes);
  // Makes the reserved bytes visible to the reader.
  void publish();
  // The position after everything that was published.
  std::uint64_t published() const {
    return published_.load(std::memory_order_acquire);
  }
  // Bytes that the reader has not released yet.
  std::size_t used() const {
    return published() - released_.load(std::memory_order_acquire);
  }

  // --- the reading side ---

  // The position of the next message to read.
  std::uint64_t read_position() const { return read_; }
  // Returns whether there is a message before `end`, a result of `published()`.
  bool can_read(std::uint64_t end);
  const std::byte* front() const { return base_ + read_ % bytes_; }
  // Moves to the next message. The bytes stay valid until `release`.
  void advance(std::size_t bytes);
  // Frees everything that was read.
  void release();

  static constexpr std::size_t padded(std::size_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }

 private:
  StagingRing(std::byte* base, std::size_t bytes)
      : base_(base), bytes_(bytes) {}
  void rewind_if_drained();

  std::byte* const base_;
  const std::size_t bytes_;
  // Each side has its own cache lines, so that neither slows the other down.
  alignas(64) std::uint64_t reserved_ = 0;  // writer
  std::uint64_t reserved_start_ = 0;        // writer
  std::uint64_t released_seen_ = 0;         // writer
  alignas(64) std::atomic<std::uint64_t> published_ = 0;
  alignas(64) std::atomic<std::uint64_t> released_ = 0;
  alignas(64) std::uint64_t read_ = 0;  // reader
};

}  // namespace smdebug
