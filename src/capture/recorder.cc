#include "capture/recorder.h"

#include <algorithm>
#include <utility>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

// The shared lane carries only tensors of other threads, such as gradients: its
// ring is smaller by this factor.
constexpr std::size_t kSharedShare = 4;

// The smallest ring, whatever the user configures: it must hold a few messages.
constexpr std::size_t kMinRingBytes = std::size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::create(const HookConfig& config,
                                                   Writer writer,
                                                   const WaitLimit& limit) {
  auto recorder = std::make_unique<Recorder>();
  const std::size_t bytes = std::max(config.buffer_bytes, kMinRingBytes);
  SMD_TRY(recorder->owner_ring, StagingRing::create(bytes));
  SMD_TRY(recorder->shared_ring,
          StagingRing::create(std::max(bytes / kSharedShare, kMinRingBytes)));
  SMD_TRY(recorder->thread,
          WriteThread::start({std::move(writer.logger), recorder->owner_ring,
                              recorder->shared_ring, std::move(writer.steps),
                              std::move(writer.watch), std::move(writer.slots)},
                             limit));
  recorder->owner_lane.emplace(*recorder->owner_ring, *recorder->thread,
                               config.overflow_policy);
  recorder->shared_lane.emplace(*recorder->shared_ring, *recorder->thread,
                                config.overflow_policy);
  return recorder;
}

Recorder::~Recorder() {
  if (thread) thread->stop();
}

LaneCounts Recorder::counts() {
  std::lock_guard lock(shared_mutex);
  return {owner_counts.tensors + shared_counts.tensors,
          owner_counts.bytes + shared_counts.bytes,
          owner_counts.dropped_tensors + shared_counts.dropped_tensors,
          owner_counts.dropped_bytes + shared_counts.dropped_bytes};
}

}  // namespace smdebug
