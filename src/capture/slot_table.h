#pragma once

// All slots of a session, by name, and the form in which the plan in use saves
// each. Creating a slot searches its name once with every pattern of the plan.
// When the set of due collections changes from one step to the next, each slot
// gets its `SaveSpec`. The specs are cached per set.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "smdebug/config/plan.h"
#include "smdebug/core/observation.h"

#include "base/text_hash.h"
#include "capture/slot_state.h"

namespace smdebug {

class SlotTable {
 public:
  explicit SlotTable(std::shared_ptr<const Plan> plan);

  // Returns the slot of that name, and creates it if it is new. Any thread.
  SlotState* slot(std::string_view name);
  // Returns the module of that path, and creates it if it is new. Any thread.
  ModuleState* module(std::string_view path);
  // Counts the next input or output of `module` (`direction` is one of its
  // two). Returns its slot, or null if it is not due. Any thread.
  SlotState* next_due(const ModuleState& module,
                      ModuleState::Direction& direction,
                      std::uint64_t sequence);

  // Adds `slot` to the collections of those names, in this plan and in later
  // ones, whatever its own name. Returns whether any of them is new to it. Any
  // thread.
  bool assign(SlotState& slot, std::span<const std::string> collections);

  // Returns the saved collections of `plan`, in use or not, that `slot` belongs
  // to.
  CollectionSet matches(const SlotState& slot, const Plan& plan) const;

  // Marks `slot` as a part of a larger tensor from now on. Any thread.
  void set_placement(SlotState& slot,
                     const std::optional<ShardPlacement>& placement);

  // Returns a copy of `others` that lives as long as the table. The owner's
  // thread.
  const std::vector<SlotState*>* keep_shared(SlotState& slot,
                                             std::vector<SlotState*> others);

  // Changes the plan. Keeps earlier plans alive, because messages may still
  // point to their specs.
  void use(std::shared_ptr<const Plan> plan);
  const Plan& plan() const { return *plans_.back().plan; }

  // Gives each slot its spec for a step in which the collections `due` are due.
  void apply(const CollectionSet& due);

  // Identifies the set of due collections of the last `apply`.
  const void* schedule_in_use() const { return applied_; }

  struct Joined {
    const SaveSpec* spec;  // of a tensor in these collections
    bool is_new;           // to one of them
  };
  // Lists `slot` in the collections of those names, which need not exist. If
  // none of them exists, the spec is to save values.
  Joined join(const SlotState& slot, std::span<const std::string> collections);

  // The number of times that a slot matched or joined a saved collection, or
  // was listed or no longer listed in one. If it has grown, the collections
  // file is out of date.
  std::size_t memberships() const { return memberships_; }
  // Counts a change of `SlotState::is_listed`.
  void note_listing();
  // The names of tensors that joined, by collection.
  using Members = std::map<std::string, std::set<std::string>, std::less<>>;
  Members joined() const;
  // The groups that a sink matches tensors against: the collections of the plan
  // in use with the tensors that were assigned to or joined them, and the other
  // collections that a tensor joined.
  std::vector<TensorGroup> groups() const;

  // Calls `visit` for each slot, in order of creation. `visit` must not change
  // the table.
  void for_each(const std::function<void(const SlotState&)>& visit) const;

 private:
  template <typename T>
  using ByName = std::unordered_map<std::string, T*, TextHash, std::equal_to<>>;

  // The spec of each slot in a step with the due collections `due`.
  struct Schedule {
    CollectionSet due;
    std::vector<const SaveSpec*> specs;
  };
  struct PlanInUse {
    std::shared_ptr<const Plan> plan;
    std::map<CollectionSet, std::unique_ptr<SaveSpec>> specs;
    std::vector<std::unique_ptr<Schedule>> schedules;
  };

  SlotState* make_slot(std::string_view name);
  SlotState* slot_of_call(const ModuleState& module,
                          ModuleState::Direction& direction,
                          std::uint32_t call);
  void match(SlotState& slot);
  // The saved collections of `plan` that `slot` was assigned to.
  CollectionSet assigned(const SlotState& slot, const Plan& plan) const;
  // Updates the spec of `slot`, in the open step and in every schedule.
  void renew(SlotState& slot);
  const SaveSpec* spec(const CollectionSet& due_and_matched);
  Schedule& schedule(const CollectionSet& due);

  std::atomic<std::uint32_t> most_calls_ =
      0;                      // of the plan in use; 0: no limit
  mutable std::mutex mutex_;  // guards everything below
  std::vector<std::unique_ptr<SlotState>> slots_;
  std::vector<std::unique_ptr<ModuleState>> modules_;
  ByName<SlotState> slots_by_name_;
  ByName<ModuleState> modules_by_path_;
  std::vector<PlanInUse> plans_;
  Schedule* applied_ = nullptr;
  std::size_t memberships_ = 0;
  Members joined_;
  // The names of collections that a slot was assigned to, by its name.
  std::map<std::string, std::set<std::string>, std::less<>> assigned_;
};

}  // namespace smdebug
