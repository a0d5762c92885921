#pragma once

// A list that only grows, for millions of small items: no item moves, none is
// copied when the list grows, and little memory is left unused. (The blocks of
// `std::deque` are so small that their bookkeeping shows.)

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace smdebug {

template <typename T>
class ChunkedList {
 public:
  std::size_t size() const { return size_; }

  const T& operator[](std::size_t i) const {
    return (*chunks_[i / kChunk])[i % kChunk];
  }
  T& operator[](std::size_t i) { return (*chunks_[i / kChunk])[i % kChunk]; }

  T& emplace_back() {
    if (size_ == chunks_.size() * kChunk) {
      chunks_.push_back(std::make_unique<Chunk>());
    }
    return (*this)[size_++];
  }

 private:
  static constexpr std::size_t kChunk = 1024;
  using Chunk = std::array<T, kChunk>;

  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::size_t size_ = 0;
};

}  // namespace smdebug
