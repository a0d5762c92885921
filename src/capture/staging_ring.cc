#include "capture/staging_ring.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define SMD_FINDS_LEAKS 1
#elif defined(__has_feature)
#define SMD_FINDS_LEAKS __has_feature(address_sanitizer)
#else
#define SMD_FINDS_LEAKS 0
#endif
#if SMD_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace smdebug {
namespace {

constexpr std::size_t kPageBytes = 4096;

// The first word of a gap at the end of the ring, which was too short for the
// next message; that message is at the beginning.
constexpr std::uint64_t kGap = ~std::uint64_t{0};

// Messages own documents, which a leak checker finds only in memory that it
// knows. A thread that was abandoned keeps them until the process ends.
void show_to_leak_checker([[maybe_unused]] const void* memory,
                          [[maybe_unused]] std::size_t bytes) {
#if SMD_FINDS_LEAKS
  __lsan_register_root_region(memory, bytes);
#endif
}

void hide_from_leak_checker([[maybe_unused]] const void* memory,
                            [[maybe_unused]] std::size_t bytes) {
#if SMD_FINDS_LEAKS
  __lsan_unregister_root_region(memory, bytes);
#endif
}

}  // namespace

Result<std::unique_ptr<StagingRing>> StagingRing::create(std::size_t bytes) {
  bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return Error{Error::Code::io, "staging memory of " + std::to_string(bytes) +
                                      " bytes: " + std::strerror(errno)};
  }
  // Only a hint: without huge pages the first use causes more page faults.
  madvise(memory, bytes, MADV_HUGEPAGE);
  show_to_leak_checker(memory, bytes);
  return std::unique_ptr<StagingRing>(
      new StagingRing(static_cast<std::byte*>(memory), bytes));
}

StagingRing::~StagingRing() {
  hide_from_leak_checker(base_, bytes_);
  munmap(base_, bytes_);
}

// When the reader has released all messages it is idle, and only the writing
// side can add more. So the writing side may move both positions to the next
// start of the ring. `released_` is moved first: its relaxed store is ordered
// before the release store of `published_`, so a reader that sees the new
// `published_` also sees the new `released_` and skips the bytes in between.
void StagingRing::rewind_if_drained() {
  if (reserved_ % bytes_ == 0) return;
  released_seen_ = released_.load(std::memory_order_acquire);
  if (released_seen_ != reserved_) return;
  reserved_ += bytes_ - reserved_ % bytes_;
  released_seen_ = reserved_;
  released_.store(reserved_, std::memory_order_relaxed);
  published_.store(reserved_, std::memory_order_release);
}

std::byte* StagingRing::try_reserve(std::size_t bytes) {
  bytes = padded(bytes);
  rewind_if_drained();
  const std::size_t offset = reserved_ % bytes_;
  const std::size_t gap = offset + bytes > bytes_ ? bytes_ - offset : 0;
  const std::uint64_t end = reserved_ + gap + bytes;
  // Reload the reader's position only if the last one seen is not enough: the
  // load may have to fetch its cache line from the other core.
  if (end - released_seen_ > bytes_) {
    released_seen_ = released_.load(std::memory_order_acquire);
    if (end - released_seen_ > bytes_) return nullptr;
  }
  if (gap != 0) std::memcpy(base_ + offset, &kGap, sizeof(kGap));
  reserved_start_ = reserved_ + gap;
  reserved_ = end;
  return base_ + reserved_start_ % bytes_;
}

void StagingRing::publish() {
  published_.store(reserved_, std::memory_order_release);
}

bool StagingRing::can_read(std::uint64_t end) {
  // After `rewind_if_drained` the next message starts at `released_`.
  const std::uint64_t released = released_.load(std::memory_order_relaxed);
  if (released > read_) read_ = released;
  if (read_ >= end) return false;
  std::uint64_t first_word;
  std::memcpy(&first_word, front(), sizeof(first_word));
  if (first_word == kGap) read_ += bytes_ - read_ % bytes_;
  return read_ < end;
}

void StagingRing::advance(std::size_t bytes) { read_ += padded(bytes); }

void StagingRing::release() {
  if (released_.load(std::memory_order_relaxed) < read_)
    released_.store(read_, std::memory_order_release);
}

}  // namespace smdebug
