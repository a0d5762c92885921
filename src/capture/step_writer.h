#pragma once

// Turns messages into the files of a run: one event file and one index file per
// step. It runs on the write thread but knows nothing about threads: its caller
// passes messages and keeps their bytes until `flush` returns.
//
// The event file is committed first, so that every index file that can be
// listed has its event file.

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/store/storage.h"

#include "capture/attempt_start.h"
#include "capture/message.h"
#include "capture/progress_writer.h"
#include "capture/run_size_limit.h"
#include "capture/scalar_chunk.h"
#include "capture/slot_records.h"
#include "capture/statistics_writer.h"
#include "capture/tensorboard_writer.h"
#include "format/index_file.h"
#include "format/tensor_record.h"

namespace smdebug {

// Counts of the files written so far.
struct WriteCounts {
  std::uint64_t steps = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  RemovalCounts removals;
  // The number of tensors that a later one of the same name and step replaced
  // for readers, and the first such name, which is valid as long as the
  // session.
  std::uint64_t replaced_tensors = 0;
  std::string_view first_replaced;
};

class StepWriter {
 public:
  // Null pointers switch parts off. Without `storage` nothing is written, and
  // `counts` has the numbers that would have been; without `tensorboard`
  // nothing is written for TensorBoard; without `size_limit` every step is
  // kept; without `attempt` the run has no earlier attempt; without `progress`
  // `progress.json` is not written.
  StepWriter(std::shared_ptr<Storage> storage, std::string worker,
             const Framework& framework, Checksum checksum,
             std::shared_ptr<TensorBoardWriter> tensorboard,
             std::unique_ptr<RunSizeLimit> size_limit,
             std::unique_ptr<AttemptStart> attempt = nullptr,
             std::shared_ptr<ProgressWriter> progress = nullptr);
  ~StepWriter();

  // Call it once, before the first message. Fails as `AttemptStart::run`.
  Status start();

  // `schedule` is equal for steps in which the same tensors are due.
  void begin_step(double wall_seconds, const StepId& step,
                  const void* schedule);
  Step step() const { return step_.global; }

  // Adds one message of a tensor. Its payload must stay valid until the next
  // `flush`. Fails as the storage.
  Status add(const Message& message);

  // The number of bytes that `flush` would pass to the storage.
  std::size_t pending_bytes() const { return pending_bytes_; }
  // Passes everything added so far to the storage. Fails as the storage.
  Status flush();

  // Publishes the step. A step without tensors or drops leaves no file.
  Status end_step(std::uint64_t dropped_tensors, std::uint64_t dropped_bytes);

  Status write(const Document& document);
  Status write(const ScalarChunk& scalars);

  // Keeps a step as long as possible if the run has a size limit.
  void keep_step(Step step);

  // Completes the files that span several steps, at the end of the run.
  Status close();

  // Waits until everything that was written can be read. `needs_settling`: this
  // takes a while, because the storage is remote.
  Status settle();
  bool needs_settling() const { return storage_ && storage_->is_remote(); }

  // Shows other hosts that this process runs. Call it every
  // `kProgressInterval` if `needs_beats`.
  Status beat();
  bool needs_beats() const { return progress_ && needs_settling(); }

  // Whether the open step has as many tensors as the last published one with
  // its mode and schedule, so that it is expected to get no more.
  bool has_whole_step() const;

  // Discards the open step, after a failure.
  void abandon();

  const WriteCounts& counts() const { return counts_; }

 private:
  struct Part {
    const std::byte* bytes;  // null: at `offset` of the arena
    std::size_t offset;
    std::size_t size;
  };

  void add_arena_part(std::size_t offset);
  void add_payload_part(std::span<const std::byte> payload);
  void begin_raw_record(const Message& message);
  void end_raw_record();
  void note(SlotState& slot, const Message& message);
  void note_loss(const Message& message);
  void add_reductions(const Message& message);
  void add_reduction(const Message& message, ReductionOp op,
                     std::span<const std::byte> elements);
  Status open_event_file();
  std::span<const std::byte> message_from(std::size_t offset) const;
  Status remove_older(const std::string& index_key);

  const std::shared_ptr<Storage> storage_;
  const std::string worker_;
  const Deviation deviation_;
  const ReductionForm reduction_form_;
  const Checksum checksum_;
  const std::shared_ptr<TensorBoardWriter> tensorboard_;
  bool has_older_ = false;  // files of an earlier attempt may remain
  const std::unique_ptr<RunSizeLimit> size_limit_;
  std::unique_ptr<AttemptStart> attempt_;
  const std::shared_ptr<ProgressWriter> progress_;
  // None without storage, and with a size limit, which removes steps.
  std::optional<StatisticsWriter> statistics_;

  StepId step_;
  bool is_step_open_ = false;
  using Kind = std::pair<Mode, const void*>;  // of a step
  Kind kind_;
  std::uint64_t step_tensors_ = 0;  // of different names
  std::map<Kind, std::uint64_t> whole_tensors_;
  RecordStamp stamp_;
  std::array<char, 24> mode_step_text_;
  std::string event_key_;
  std::unique_ptr<ObjectWriter> event_file_;
  std::uint64_t event_offset_ = 0;
  IndexFileBuilder index_;

  // The record whose payload is being added.
  struct {
    bool is_open = false;
    std::uint64_t start = 0;
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;          // of the elements
    std::uint32_t message_crc = 0;  // so far; for `Checksum::crc32c`
    SlotState* slot = nullptr;
    const std::vector<SlotState*>* also = nullptr;  // its further names
  } record_;
  std::string tail_;
  // The elements of a tensor of several messages, if a reduction needs all of
  // them.
  std::vector<std::byte> elements_;

  std::string arena_;  // heads, tails and reductions since the last flush
  std::vector<Part> parts_;
  std::vector<std::span<const std::byte>> spans_;
  std::size_t pending_bytes_ = 0;
  std::uint64_t series_files_ = 0;
  WriteCounts counts_;
};

}  // namespace smdebug
