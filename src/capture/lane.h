#pragma once

// A lane puts tensors into a staging ring: the part of capture that runs inside
// the training step. It copies a tensor and computes its statistics in one
// pass, allocates nothing and takes no lock. One thread at a time uses a lane.

#include <cstdint>
#include <vector>

#include "smdebug/config/hook_config.h"
#include "smdebug/core/statistics.h"
#include "smdebug/core/tensor_view.h"

#include "capture/message.h"
#include "capture/scalar_chunk.h"
#include "capture/staging_ring.h"
#include "capture/write_thread.h"
#include "reduce/gather.h"

namespace smdebug {

class Lane {
 public:
  Lane(StagingRing& ring, WriteThread& writer, OverflowPolicy overflow)
      : ring_(ring), writer_(writer), overflow_(overflow) {}

  // Copies the parts of the tensor that `spec` needs. Returns its statistics,
  // which stay in the ring until the next call, or null if the buffer was full
  // and the tensor is lost. `also` lists further names of its record; null:
  // none.
  const TensorStatistics* put(SlotState& slot, const SaveSpec& spec,
                              const TensorView& tensor, std::uint64_t sequence,
                              double wall_seconds = 0,
                              const std::vector<SlotState*>* also = nullptr);

  // Does the same for a tensor whose elements are not in host memory, given its
  // `statistics`. `tensor` has its dtype and shape; `spec` must need no
  // elements.
  const TensorStatistics* put_statistics(SlotState& slot, const SaveSpec& spec,
                                         const TensorView& tensor,
                                         const TensorStatistics& statistics,
                                         std::uint64_t sequence);

  // Whether `spec` needs more of a tensor than its statistics.
  static bool needs_elements(const SaveSpec& spec);

  // `schedule` is equal for steps in which the same tensors are due.
  void begin_step(double wall_seconds, const StepId& step,
                  std::uint64_t sequence, const void* schedule);
  void end_step(std::uint64_t shared_end, std::uint64_t dropped_tensors,
                std::uint64_t dropped_bytes, std::uint64_t sequence);
  void keep_step(Step step);
  void write(Document document);
  // Wakes the writer.
  void write(ScalarChunk scalars);

  // An expanded tensor (with a stride of 0) is written as large as it is shown,
  // up to this size.
  static constexpr std::uint64_t kMaxExpandedBytes = std::uint64_t{256} << 20;

  // Whether the values of the tensor are too many to write because it was
  // expanded.
  static bool is_expanded_too_far(const TensorView& tensor);

  // The largest rank that is captured: the shape must fit into one message.
  static constexpr std::size_t kMaxRank = 64;

  // How long the training has waited for the writer so far.
  double wait_seconds() const { return wait_seconds_; }

 private:
  struct Request {
    SlotState& slot;
    const SaveSpec& spec;
    const TensorView& tensor;
    std::uint64_t sequence;
    std::size_t payload_offset;
    double wall_seconds;  // 0: of the step
    const std::vector<SlotState*>* also;
    std::uint64_t repeats = 1;
  };

  static Gather::Repeats repeats_in(const Request& request) {
    return request.repeats > 1 ? Gather::Repeats::omitted
                               : Gather::Repeats::copied;
  }
  std::byte* reserve(std::size_t bytes, OverflowPolicy overflow);
  std::byte* wait_for_space(std::size_t bytes, OverflowPolicy overflow);
  Message* reserve_message(const Request& request, std::size_t payload_bytes,
                           OverflowPolicy overflow);
  const TensorStatistics* put_statistics(const Request& request);
  const TensorStatistics* put_whole(const Request& request,
                                    std::size_t payload_bytes);
  const TensorStatistics* put_chunks(const Request& request,
                                     std::size_t payload_bytes);
  const TensorStatistics* put_strings(const Request& request);
  bool can_begin_chunks(std::size_t payload_bytes) const;
  std::size_t chunk_bytes() const;
  // Publishes the reserved message, and wakes the writer after `kWakeBytes`.
  void publish(std::size_t bytes);
  bool put_control(Message& message);

  StagingRing& ring_;
  WriteThread& writer_;
  const OverflowPolicy overflow_;
  std::size_t unannounced_bytes_ = 0;  // since the writer was last woken
  double wait_seconds_ = 0;
};

}  // namespace smdebug
