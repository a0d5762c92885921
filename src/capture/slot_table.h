#pragma once

// All slots of a session, by name, and what the plan in use says of each.
// Making a slot searches its name with every pattern of the plan, once. When
// the set of due collections changes from one step to the next, each slot gets
// the form in which it is written. The forms are kept per set.

#include <cstddef>
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

#include "capture/slot_state.h"

namespace smdebug {

class SlotTable {
 public:
  explicit SlotTable(std::shared_ptr<const Plan> plan);

  // The slot of that name, made if it is new. Any thread.
  SlotState* slot(std::string_view name);
  // The module of that path, made if it is new. Any thread.
  ModuleState* module(std::string_view path);
  // Counts the next input or output of `module` (`direction` is one of its
  // two) and returns its slot if it is due, else null. Any thread.
  SlotState* next_due(const ModuleState& module,
                      ModuleState::Direction& direction,
                      std::uint64_t sequence);

  // Says that `slot` belongs to the collections of those names, in this plan
  // and in later ones, whatever it is called. Any thread.
  // Returns whether any of them is new to it.
  bool assign(SlotState& slot, std::span<const std::string> collections);

  // The saved collections of `plan`, in use or not, that `slot` belongs to.
  CollectionSet matches(const SlotState& slot, const Plan& plan) const;

  // Marks `slot` as a part of a larger tensor from now on. Any thread.
  void set_placement(SlotState& slot,
                     const std::optional<ShardPlacement>& placement);

  // A list of `others` that lives as long as the table. The owner of steps.
  const std::vector<SlotState*>* keep_shared(SlotState& slot,
                                             std::vector<SlotState*> others);

  // Changes the plan. Earlier plans live on: messages may still point to their
  // specs.
  void use(std::shared_ptr<const Plan> plan);
  const Plan& plan() const { return *plans_.back().plan; }

  // Gives each slot the form in which it is written when `due` are due.
  void apply(const CollectionSet& due);

  struct Joined {
    const SaveSpec* spec;  // what is written of a tensor of these collections
    bool is_new;           // to one of them
  };
  // Lists `slot` in the collections of those names, which need not exist. If
  // none of them exists, values are written.
  Joined join(const SlotState& slot, std::span<const std::string> collections);

  // How often a slot was found to belong to a saved collection, or joined one:
  // grows with what the collections file lists.
  std::size_t memberships() const { return memberships_; }
  // The names of tensors that joined, by collection.
  using Members = std::map<std::string, std::set<std::string>, std::less<>>;
  Members joined() const;
  // The collections of the plan in use, with the names of tensors that were
  // assigned to them or joined them, and the other collections that a tensor
  // joined: what a sink matches tensors against.
  std::vector<TensorGroup> groups() const;

  // Calls `visit` for each slot in the order they were made. The table must
  // not be changed by it.
  void for_each(const std::function<void(const SlotState&)>& visit) const;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  template <typename T>
  using ByName = std::unordered_map<std::string, T*, NameHash, std::equal_to<>>;

  // The form of each slot when `due` are due, by slot.
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
  // Works out again what is written of `slot` in the open step.
  void renew(SlotState& slot);
  const SaveSpec* spec(const CollectionSet& due_and_matched);
  Schedule& schedule(const CollectionSet& due);

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
