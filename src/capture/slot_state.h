#pragma once

// The state behind a `TensorSlot`: a tensor's name with every decision about
// it. It is created once; from then on the training step uses a pointer to it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "smdebug/config/plan.h"
#include "smdebug/core/shard.h"

#include "capture/leap_watch.h"
#include "capture/slot_records.h"

namespace smdebug {

struct __attribute__((visibility("hidden"))) SlotState {
  explicit SlotState(std::string name) : name(std::move(name)) {}

  const std::string name;
  // The saved collections of the plan in use that it belongs to.
  CollectionSet matched;
  // The form in which the open step writes it; null: not at all. The owner sets
  // it when the set of due collections changes, and any thread reads it. A
  // relaxed load is enough: an earlier spec lives as long as the table.
  std::atomic<const SaveSpec*> spec = nullptr;
  // The part of a larger tensor that it is; null: a whole tensor. Owned below.
  std::atomic<const ShardPlacement*> placement = nullptr;
  std::atomic<bool> is_skipped = false;  // reported once
  std::atomic<bool> was_captured = false;
  // Whether a collection lists it: not if it was only ever skipped.
  bool is_listed() const { return !is_skipped || was_captured; }

  RecentValues norms;  // of a gradient; belongs to the owner's thread

  // Belongs to the write thread. No other thread reads or writes it.
  SlotRecords records;
  // Every placement that it had, because messages may still point to an earlier
  // one. The table changes it, under its lock.
  std::vector<std::unique_ptr<const ShardPlacement>> placements;
  // Every list of slots that it shared a record with, for the same reason.
  std::vector<std::unique_ptr<const std::vector<SlotState*>>> shared_with;
};

// Inputs and outputs of one module. `calls` counts over repeated calls of the
// module within a step.
struct __attribute__((visibility("hidden"))) ModuleState {
  explicit ModuleState(std::string path) : path(std::move(path)) {}

  struct Direction {
    // By index; later ones are looked up by name.
    static constexpr std::size_t kKept = 16;
    std::array<std::atomic<SlotState*>, kKept> slots = {};
    std::atomic<std::uint32_t> calls = 0;
    std::atomic<std::uint64_t> sequence = 0;  // of the step that `calls` count

    // Returns whether the plan in use saves any of them; true before the first
    // call.
    bool can_match() const {
      for (const std::atomic<SlotState*>& known : slots) {
        const SlotState* slot = known.load(std::memory_order_acquire);
        if (slot == nullptr) return &known == slots.data();
        if (!slot->matched.empty()) return true;
      }
      return false;
    }
  };

  const std::string path;
  Direction inputs;
  Direction outputs;
};

}  // namespace smdebug
