#pragma once

// The memory between the training step and the write thread: a log of
// messages in one mapped ring. One thread reserves and publishes, one thread
// reads and releases; neither takes a lock.
//
// Whenever the reader has caught up, the writer goes back to the start of the
// ring, so that a run with small steps works in cache-warm memory however
// large the ring is. Pages are touched by their first use and then kept.
//
// Positions count bytes since the ring was made and never go back; a position
// modulo the size is a place in the ring.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "smdebug/base/result.h"

namespace smdebug {

class StagingRing {
 public:
  // Messages and payloads start on cache lines, as streaming stores ask.
  static constexpr std::size_t kAlignment = 64;

  // `bytes` is rounded up to whole pages. Fails with `io` where the memory
  // cannot be mapped.
  static Result<std::unique_ptr<StagingRing>> create(std::size_t bytes);
  ~StagingRing();
  StagingRing(const StagingRing&) = delete;
  StagingRing& operator=(const StagingRing&) = delete;

  std::size_t bytes() const { return bytes_; }

  // --- the writing side ---

  // Returns room for `bytes` without a break, or null if there is none now.
  // At most half of the ring can be asked for.
  std::byte* try_reserve(std::size_t bytes);
  // Hands the reserved bytes to the reader.
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

  // The position of the first message that was not read yet.
  std::uint64_t read_position() const { return read_; }
  // True if a message lies before `end`, a position from `published()`.
  bool can_read(std::uint64_t end);
  const std::byte* front() const { return base_ + read_ % bytes_; }
  // Goes on to the next message. The bytes stay until `release`.
  void advance(std::size_t bytes);
  // Gives back everything that was read.
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
  // Each side's own line, so that neither slows the other.
  alignas(64) std::uint64_t reserved_ = 0;  // writer
  std::uint64_t reserved_start_ = 0;        // writer
  std::uint64_t released_seen_ = 0;         // writer
  alignas(64) std::atomic<std::uint64_t> published_ = 0;
  alignas(64) std::atomic<std::uint64_t> released_ = 0;
  alignas(64) std::uint64_t read_ = 0;  // reader
};

}  // namespace smdebug
