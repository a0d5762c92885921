#pragma once

// The path from the training step to the files: two lanes, the ring behind
// each, and the thread that reads them. The owner of steps has a lane of its
// own, so it takes no lock. All other threads share the second lane under a
// mutex.

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "smdebug/base/result.h"
#include "smdebug/config/hook_config.h"

#include "capture/lane.h"
#include "capture/staging_ring.h"
#include "capture/step_writer.h"
#include "capture/write_thread.h"

namespace smdebug {

// Counts of the tensors captured through one lane.
struct LaneCounts {
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::uint64_t dropped_tensors = 0;
  std::uint64_t dropped_bytes = 0;
};

struct Recorder {
  // The thread shares the rings, because it may outlive the recorder.
  std::shared_ptr<StagingRing> owner_ring;
  std::shared_ptr<StagingRing> shared_ring;
  std::shared_ptr<WriteThread> thread;
  std::optional<Lane> owner_lane;
  std::mutex shared_mutex;  // guards the shared lane and its counts
  std::optional<Lane> shared_lane;
  LaneCounts owner_counts;
  LaneCounts shared_counts;

  // The parts of the write thread beside the rings.
  struct Writer {
    std::shared_ptr<DetachableLogger> logger;
    std::unique_ptr<StepWriter> steps;
    std::shared_ptr<StorageWatch> watch;
    std::shared_ptr<const void> slots;
  };

  // Starts the thread. Fails with `io` if the rings cannot be mapped, and as
  // `WriteThread::start`.
  static Result<std::unique_ptr<Recorder>> create(const HookConfig& config,
                                                  Writer writer,
                                                  const WaitLimit& limit);
  // Stops the thread.
  ~Recorder();

  // The sum of both lanes. The owner's thread.
  LaneCounts counts();
};

}  // namespace smdebug
