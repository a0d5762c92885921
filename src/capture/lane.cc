#include "capture/lane.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "smdebug/base/clock.h"
#include "smdebug/reduce/reductions.h"
#include "smdebug/reduce/statistics_kernel.h"

#include "capture/slot_state.h"
#include "format/string_elements.h"
#include "reduce/gather.h"

namespace smdebug {
namespace {

// From this size on, copies bypass the cache: another thread reads them later,
// and the training keeps its own cache lines. Below it, bypassing costs more
// than it saves (statistics_kernel_bench.cc measures both).
constexpr std::size_t kStreamingBytes = std::size_t{16} << 10;

// The writer is woken once per step, and each time this much was published.
// Fewer wake-ups would leave it idle, more would cost a system call per tensor.
constexpr std::size_t kWakeBytes = std::size_t{4} << 20;

// Whether the writer reads elements, even if it does not store them.
bool reads_elements(const SaveSpec& spec) {
  return !spec.histogram_collection.empty() ||
         std::ranges::any_of(spec.reductions, needs_elements);
}

bool needs_payload(const SaveSpec& spec, std::size_t payload_bytes) {
  if (payload_bytes == 0) return false;
  if (spec.raw && payload_bytes <= kMaxPayloadBytes) return true;
  return reads_elements(spec);
}

CopyStores stores_for(std::size_t bytes) {
  return bytes >= kStreamingBytes ? CopyStores::streaming : CopyStores::normal;
}

// Copies the elements of a tensor in C order, piece by piece.
class Elements {
 public:
  explicit Elements(const TensorView& tensor,
                    Gather::Repeats repeats = Gather::Repeats::copied)
      : tensor_(tensor),
        element_bytes_(dtype_bytes(tensor.dtype)),
        is_contiguous_(tensor.is_contiguous()),
        gather_(tensor, repeats) {}

  TensorStatistics copy(std::byte* destination, std::size_t count,
                        CopyStores stores) {
    if (is_contiguous_) {
      const std::byte* from = tensor_.data + next_ * element_bytes_;
      next_ += count;
      return copy_with_statistics(tensor_.dtype, from, count, destination,
                                  stores);
    }
    gather_.next(destination, count);
    return statistics_of(tensor_.dtype, destination, count);
  }

 private:
  const TensorView& tensor_;
  const std::size_t element_bytes_;
  const bool is_contiguous_;
  Gather gather_;
  std::size_t next_ = 0;
};

}  // namespace

const TensorStatistics* Lane::put(SlotState& slot, const SaveSpec& spec,
                                  const TensorView& tensor,
                                  std::uint64_t sequence, double wall_seconds,
                                  const std::vector<SlotState*>* also) {
  Request request{slot,
                  spec,
                  tensor,
                  sequence,
                  Message::payload_offset_of(tensor.shape.size()),
                  wall_seconds,
                  also};
  std::size_t bytes = tensor.bytes();
  if (!tensor.strides.empty() && (!spec.raw || is_expanded_too_far(tensor))) {
    request.repeats = repeats_of(tensor);
    bytes /= request.repeats;
    if (request.repeats > 1 && !reads_elements(spec))
      return put_statistics(request);
  }
  if (!needs_payload(spec, bytes)) {
    return is_string(tensor.dtype) ? put_strings(request)
                                   : put_statistics(request);
  }
  return bytes <= chunk_bytes() ? put_whole(request, bytes)
                                : put_chunks(request, bytes);
}

const TensorStatistics* Lane::put_statistics(SlotState& slot,
                                             const SaveSpec& spec,
                                             const TensorView& tensor,
                                             const TensorStatistics& statistics,
                                             std::uint64_t sequence) {
  Message* message = reserve_message(
      {slot, spec, tensor, sequence,
       Message::payload_offset_of(tensor.shape.size()), 0, nullptr},
      0, overflow_);
  if (message == nullptr) return nullptr;
  message->statistics = statistics;
  publish(message->bytes);
  return &message->statistics;
}

bool Lane::is_expanded_too_far(const TensorView& tensor) {
  return !tensor.strides.empty() && tensor.bytes() > kMaxExpandedBytes &&
         repeats_of(tensor) > 1;
}

bool Lane::needs_elements(const SaveSpec& spec) {
  return spec.raw || reads_elements(spec);
}

// Reserves a message and writes its header and shape; null if there is no
// space. The reader cannot see it before `publish`.
Message* Lane::reserve_message(const Request& request,
                               std::size_t payload_bytes,
                               OverflowPolicy overflow) {
  const std::size_t bytes =
      StagingRing::padded(request.payload_offset + payload_bytes);
  std::byte* space = reserve(bytes, overflow);
  if (space == nullptr) return nullptr;
  auto* message = new (space) Message;
  message->bytes = bytes;
  message->dtype = request.tensor.dtype;
  message->rank = static_cast<std::uint8_t>(request.tensor.shape.size());
  message->payload_offset = static_cast<std::uint32_t>(request.payload_offset);
  message->payload_bytes = payload_bytes;
  message->repeats = request.repeats;
  message->sequence = request.sequence;
  message->tensor = {&request.slot,
                     &request.spec,
                     0,
                     request.wall_seconds,
                     request.slot.placement.load(std::memory_order_relaxed),
                     request.also};
  // The shape of a 0-d tensor may have a null pointer, which memcpy must not
  // get.
  if (const auto shape = request.tensor.shape; !shape.empty())
    std::memcpy(static_cast<void*>(message + 1), shape.data(),
                shape.size_bytes());
  return message;
}

const TensorStatistics* Lane::put_statistics(const Request& request) {
  Message* message = reserve_message(request, 0, overflow_);
  if (message == nullptr) return nullptr;
  const TensorView& tensor = request.tensor;
  message->statistics =
      tensor.is_contiguous()
          ? statistics_of(tensor.dtype, tensor.data,
                          static_cast<std::size_t>(tensor.size()))
          : statistics_of_view(tensor);
  publish(message->bytes);
  return &message->statistics;
}

const TensorStatistics* Lane::put_whole(const Request& request,
                                        std::size_t payload_bytes) {
  Message* message = reserve_message(request, payload_bytes, overflow_);
  if (message == nullptr) return nullptr;
  const TensorView& tensor = request.tensor;
  if (tensor.is_contiguous()) {
    message->statistics = copy_with_statistics(
        tensor.dtype, tensor.data, static_cast<std::size_t>(tensor.size()),
        message->payload_buffer(), stores_for(payload_bytes));
  } else {
    message->statistics = Elements(tensor, repeats_in(request))
                              .copy(message->payload_buffer(),
                                    payload_bytes / dtype_bytes(tensor.dtype),
                                    CopyStores::normal);
    message->statistics.repeat(request.repeats);
  }
  publish(message->bytes);
  return &message->statistics;
}

const TensorStatistics* Lane::put_chunks(const Request& request,
                                         std::size_t payload_bytes) {
  if (!can_begin_chunks(payload_bytes)) return nullptr;
  const std::size_t element_bytes = dtype_bytes(request.tensor.dtype);
  Elements elements(request.tensor, repeats_in(request));
  TensorStatistics so_far;
  const TensorStatistics* whole = nullptr;
  for (std::size_t done = 0; done < payload_bytes;) {
    const std::size_t chunk = std::min(chunk_bytes(), payload_bytes - done);
    // Later chunks always wait: the writer has the first ones already. Null
    // means that the storage no longer responds; the writer then reports the
    // cut-off tensor.
    Message* message = reserve_message(request, chunk, OverflowPolicy::block);
    if (message == nullptr) return nullptr;
    message->is_first = done == 0;
    message->is_last = done + chunk == payload_bytes;
    so_far.merge(elements.copy(message->payload_buffer(), chunk / element_bytes,
                               stores_for(payload_bytes)));
    // The statistics of the last message are those of the whole tensor.
    message->statistics = so_far;
    message->statistics.repeat(request.repeats);
    whole = &message->statistics;
    publish(message->bytes);
    done += chunk;
  }
  return whole;
}

// Strings are packed on their way into the ring, in the form that their record
// has. Their only statistic is their count.
const TensorStatistics* Lane::put_strings(const Request& request) {
  const auto strings = request.tensor.strings();
  const std::uint64_t bytes = string_elements_bytes(strings);
  const bool is_raw = request.spec.raw && bytes <= kMaxPayloadBytes;
  const std::size_t payload_bytes = is_raw ? bytes : 0;
  const bool is_whole = payload_bytes <= chunk_bytes();
  if (!is_whole && !can_begin_chunks(payload_bytes)) return nullptr;

  const TensorStatistics statistics =
      statistics_of(request.tensor.dtype, nullptr, strings.size());
  StringElements elements(strings);
  const TensorStatistics* kept = nullptr;
  std::size_t done = 0;
  do {
    const std::size_t chunk = std::min(chunk_bytes(), payload_bytes - done);
    Message* message = reserve_message(
        request, chunk, is_whole ? overflow_ : OverflowPolicy::block);
    if (message == nullptr) return nullptr;
    message->tensor.strings_bytes = bytes;
    message->is_first = done == 0;
    message->is_last = done + chunk == payload_bytes;
    elements.next(message->payload_buffer(), chunk);
    message->statistics = statistics;
    kept = &message->statistics;
    publish(message->bytes);
    done += chunk;
  } while (done < payload_bytes);
  return kept;
}

// Whether to begin a tensor of several messages. Half a tensor is useless, so
// its later messages wait for space even under `drop`. To keep that wait short,
// begins it only if it fits into half of the ring beside the bytes in use.
bool Lane::can_begin_chunks(std::size_t payload_bytes) const {
  return overflow_ == OverflowPolicy::block ||
         payload_bytes + ring_.used() <= ring_.bytes() / 2;
}

// A chunk fits several times into the ring, so that the training fills one
// while the writer reads another.
std::size_t Lane::chunk_bytes() const {
  return std::min(kMaxChunkBytes, ring_.bytes() / 4 / StagingRing::kAlignment *
                                      StagingRing::kAlignment);
}

void Lane::begin_step(double wall_seconds, const StepId& step,
                      std::uint64_t sequence, const void* schedule) {
  Message message;
  message.kind = Message::Kind::begin_step;
  message.sequence = sequence;
  message.begin = {wall_seconds, step, schedule};
  put_control(message);
}

void Lane::end_step(std::uint64_t shared_end, std::uint64_t dropped_tensors,
                    std::uint64_t dropped_bytes, std::uint64_t sequence) {
  Message message;
  message.kind = Message::Kind::end_step;
  message.sequence = sequence;
  message.end = {shared_end, dropped_tensors, dropped_bytes};
  put_control(message);
  unannounced_bytes_ = 0;
  writer_.wake();
}

void Lane::keep_step(Step step) {
  Message message;
  message.kind = Message::Kind::keep_step;
  message.kept_step = step;
  put_control(message);
}

void Lane::write(Document document) {
  Message message;
  message.kind = Message::Kind::document;
  message.document = new Document(std::move(document));
  if (!put_control(message)) delete message.document;
}

void Lane::write(ScalarChunk scalars) {
  Message message;
  message.kind = Message::Kind::scalars;
  message.scalars = new ScalarChunk(std::move(scalars));
  if (!put_control(message)) delete message.scalars;
  writer_.wake();
}

// Control messages wait for space even under `drop`: without them the writer
// could not assign tensors to steps.
bool Lane::put_control(Message& message) {
  message.bytes = Message::payload_offset_of(0);
  std::byte* space = reserve(message.bytes, OverflowPolicy::block);
  if (space == nullptr) return false;
  new (space) Message(message);
  publish(message.bytes);
  return true;
}

std::byte* Lane::reserve(std::size_t bytes, OverflowPolicy overflow) {
  std::byte* space = ring_.try_reserve(bytes);
  return space != nullptr ? space : wait_for_space(bytes, overflow);
}

std::byte* Lane::wait_for_space(std::size_t bytes, OverflowPolicy overflow) {
  if (overflow == OverflowPolicy::drop) {
    writer_.wake();
    return nullptr;
  }
  const auto start = system_clock().monotonic();
  std::byte* space = nullptr;
  while (space == nullptr && writer_.wait_for_space(ring_))
    space = ring_.try_reserve(bytes);
  wait_seconds_ +=
      std::chrono::duration<double>(system_clock().monotonic() - start).count();
  return space;
}

void Lane::publish(std::size_t bytes) {
  ring_.publish();
  unannounced_bytes_ += bytes;
  if (unannounced_bytes_ < std::min(kWakeBytes, ring_.bytes() / 4)) return;
  unannounced_bytes_ = 0;
  writer_.wake();
}

}  // namespace smdebug
