#pragma once

// The messages in a staging ring. A message is this header, then the shape of
// its tensor, and then, starting on a new cache line, the elements. A larger
// tensor takes several consecutive messages.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "smdebug/core/dtype.h"
#include "smdebug/core/mode.h"
#include "smdebug/core/statistics.h"

#include "capture/staging_ring.h"

namespace smdebug {

struct SlotState;
struct ShardPlacement;
struct SaveSpec;
struct ScalarChunk;

// A small file that is written beside the tensors: collections, run.json.
struct Document {
  std::string key;
  std::string text;
};

struct Message {
  enum class Kind : std::uint8_t {
    begin_step,
    tensor,
    end_step,
    keep_step,
    document,
    scalars,
  };

  std::uint64_t bytes = 0;  // of the whole message, padding included
  Kind kind = Kind::tensor;
  DType dtype = DType::float32;
  std::uint8_t rank = 0;
  bool is_first = true;  // of the messages of one tensor
  bool is_last = true;   // the one whose statistics are those of the tensor
  std::uint32_t payload_offset = 0;
  std::uint64_t payload_bytes = 0;  // in this message
  // How often the tensor has each element of the payload. Above 1 for an
  // expanded tensor whose values are not written.
  std::uint64_t repeats = 1;
  // The step of the session, counted from 1. The shared lane is not read ahead
  // of the step that is being written.
  std::uint64_t sequence = 0;

  struct TensorFields {
    SlotState* slot;
    const SaveSpec* spec;
    std::uint64_t strings_bytes;      // of all elements, if they are strings
    double wall_seconds;              // of the record; 0: of the step
    const ShardPlacement* placement;  // null: a whole tensor
    // Further names of the same record; null: none.
    const std::vector<SlotState*>* also;
  };
  struct BeginFields {
    double wall_seconds;
    StepId step;
    const void* schedule;  // identifies the due tensors
  };
  struct EndFields {
    std::uint64_t shared_end;  // position of the shared lane at the end
    std::uint64_t dropped_tensors;
    std::uint64_t dropped_bytes;
  };

  union {
    TensorFields tensor;
    BeginFields begin;
    EndFields end;
    Step kept_step;
    Document* document;    // owned by the message
    ScalarChunk* scalars;  // owned by the message
  };
  TensorStatistics statistics;

  Message() : tensor{nullptr, nullptr, 0, 0, nullptr, nullptr} {}

  std::span<const std::int64_t> shape() const {
    return {reinterpret_cast<const std::int64_t*>(this + 1), rank};
  }
  std::span<const std::byte> payload() const {
    return {reinterpret_cast<const std::byte*>(this) + payload_offset,
            payload_bytes};
  }

  // The destination of the elements. Valid once `payload_offset` is set.
  std::byte* payload_buffer() {
    return reinterpret_cast<std::byte*>(this) + payload_offset;
  }

  // The offset of the elements in a message of this rank.
  static constexpr std::size_t payload_offset_of(std::size_t rank) {
    return StagingRing::padded(sizeof(Message) + rank * sizeof(std::int64_t));
  }
};

static_assert(sizeof(Message) % alignof(std::int64_t) == 0);

// The largest payload of a message: small enough to stay in the cache between
// the thread that fills it and the thread that writes it.
inline constexpr std::size_t kMaxChunkBytes = std::size_t{1} << 20;

}  // namespace smdebug
