#include "capture/slot_table.h"

#include <algorithm>
#include <utility>

namespace smdebug {

SlotTable::SlotTable(std::shared_ptr<const Plan> plan) { use(std::move(plan)); }

SlotState* SlotTable::slot(std::string_view name) {
  std::lock_guard lock(mutex_);
  return make_slot(name);
}

SlotState* SlotTable::make_slot(std::string_view name) {
  if (auto found = slots_by_name_.find(name); found != slots_by_name_.end())
    return found->second;
  slots_.push_back(std::make_unique<SlotState>(std::string(name)));
  SlotState* slot = slots_.back().get();
  slots_by_name_.emplace(slot->name, slot);
  match(*slot);
  if (applied_ != nullptr) {
    applied_->specs.resize(slots_.size() - 1);
    applied_->specs.push_back(spec(slot->matched & applied_->due));
    slot->spec.store(applied_->specs.back());
  }
  return slot;
}

ModuleState* SlotTable::module(std::string_view path) {
  std::lock_guard lock(mutex_);
  auto found = modules_by_path_.find(path);
  if (found != modules_by_path_.end()) return found->second;
  modules_.push_back(std::make_unique<ModuleState>(std::string(path)));
  ModuleState* module = modules_.back().get();
  modules_by_path_.emplace(module->path, module);
  return module;
}

SlotState* SlotTable::next_due(const ModuleState& module,
                               ModuleState::Direction& direction,
                               std::uint64_t sequence) {
  // Relaxed: the counts order no other memory.
  if (direction.sequence.load(std::memory_order_relaxed) != sequence) {
    direction.sequence.store(sequence, std::memory_order_relaxed);
    direction.calls.store(0, std::memory_order_relaxed);
  }
  const std::uint32_t call =
      direction.calls.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t most = most_calls_.load(std::memory_order_relaxed);
  if (most != 0 && call >= most) return nullptr;
  SlotState* slot = nullptr;
  if (call < ModuleState::Direction::kKept)
    slot = direction.slots[call].load(std::memory_order_acquire);
  if (slot == nullptr) slot = slot_of_call(module, direction, call);
  const bool is_due = slot->spec.load(std::memory_order_relaxed) != nullptr;
  return is_due ? slot : nullptr;
}

SlotState* SlotTable::slot_of_call(const ModuleState& module,
                                   ModuleState::Direction& direction,
                                   std::uint32_t call) {
  const bool is_input = &direction == &module.inputs;
  SlotState* made = slot(module.path + (is_input ? "_input_" : "_output_") +
                         std::to_string(call));
  if (call < ModuleState::Direction::kKept)
    direction.slots[call].store(made, std::memory_order_release);
  return made;
}

SlotTable::Joined SlotTable::join(const SlotState& slot,
                                  std::span<const std::string> collections) {
  static const SaveSpec values{.raw = true};
  std::lock_guard lock(mutex_);
  bool is_new = false;
  CollectionSet known;
  const auto all = plan().collections();
  for (const std::string& name : collections) {
    if (joined_[name].insert(slot.name).second) {
      ++memberships_;
      is_new = true;
    }
    const auto found = std::ranges::find(all, name, &Collection::name);
    if (found != all.end())
      known.insert(static_cast<std::size_t>(found - all.begin()));
  }
  return {known.empty() ? &values : spec(known), is_new};
}

SlotTable::Members SlotTable::joined() const {
  std::lock_guard lock(mutex_);
  return joined_;
}

std::vector<TensorGroup> SlotTable::groups() const {
  std::lock_guard lock(mutex_);
  std::vector<TensorGroup> groups;
  for (const Collection& collection : plan().collections())
    groups.push_back(collection.tensors);
  for (TensorGroup& group : groups) {
    for (const auto& [tensor, collections] : assigned_)
      if (collections.contains(group.name))
        group.tensor_names.push_back(tensor);
  }
  for (const auto& [collection, tensors] : joined_) {
    auto group = std::ranges::find(groups, collection, &TensorGroup::name);
    if (group == groups.end())
      group = groups.insert(groups.end(), {collection, {}, {}});
    group->tensor_names.insert(group->tensor_names.end(), tensors.begin(),
                               tensors.end());
  }
  return groups;
}

bool SlotTable::assign(SlotState& slot,
                       std::span<const std::string> collections) {
  std::lock_guard lock(mutex_);
  bool is_new = false;
  for (const std::string& name : collections)
    is_new |= assigned_[slot.name].insert(name).second;
  if (!is_new) return false;
  const CollectionSet before = slot.matched;
  slot.matched = slot.matched | assigned(slot, plan());
  if (slot.matched == before) return true;
  ++memberships_;
  renew(slot);
  return true;
}

CollectionSet SlotTable::matches(const SlotState& slot,
                                 const Plan& plan) const {
  std::lock_guard lock(mutex_);
  return plan.match(slot.name) | assigned(slot, plan);
}

CollectionSet SlotTable::assigned(const SlotState& slot,
                                  const Plan& plan) const {
  CollectionSet found;
  const auto names = assigned_.find(slot.name);
  if (names == assigned_.end()) return found;
  const auto all = plan.collections();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (plan.is_saved(i) && names->second.contains(all[i].name()))
      found.insert(i);
  return found;
}

void SlotTable::renew(SlotState& slot) {
  for (const auto& schedule : plans_.back().schedules) {
    for (std::size_t i = 0; i < schedule->specs.size(); ++i) {
      if (slots_[i].get() == &slot)
        schedule->specs[i] = spec(slot.matched & schedule->due);
    }
  }
  if (applied_ != nullptr) slot.spec.store(spec(slot.matched & applied_->due));
}

void SlotTable::set_placement(SlotState& slot,
                              const std::optional<ShardPlacement>& placement) {
  const ShardPlacement* known = slot.placement.load(std::memory_order_acquire);
  if (known == nullptr ? !placement : placement && *known == *placement) return;
  std::lock_guard lock(mutex_);
  const ShardPlacement* now = nullptr;
  if (placement) {
    slot.placements.push_back(
        std::make_unique<const ShardPlacement>(*placement));
    now = slot.placements.back().get();
  }
  slot.placement.store(now, std::memory_order_release);
}

const std::vector<SlotState*>* SlotTable::keep_shared(
    SlotState& slot, std::vector<SlotState*> others) {
  for (const auto& known : slot.shared_with)
    if (*known == others) return known.get();
  slot.shared_with.push_back(
      std::make_unique<const std::vector<SlotState*>>(std::move(others)));
  return slot.shared_with.back().get();
}

void SlotTable::use(std::shared_ptr<const Plan> plan) {
  std::lock_guard lock(mutex_);
  most_calls_ = plan->max_tensors_per_module();
  plans_.push_back({std::move(plan), {}, {}});
  applied_ = nullptr;
  memberships_ = 0;
  for (const auto& slot : slots_) {
    match(*slot);
    slot->spec.store(nullptr);
  }
}

void SlotTable::match(SlotState& slot) {
  slot.matched = plan().match(slot.name) | assigned(slot, plan());
  if (!slot.matched.empty()) ++memberships_;
}

void SlotTable::note_listing() {
  std::lock_guard lock(mutex_);
  ++memberships_;
}

void SlotTable::apply(const CollectionSet& due) {
  std::lock_guard lock(mutex_);
  if (applied_ != nullptr && applied_->due == due) return;
  applied_ = &schedule(due);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    // Relaxed: `capturing_` is not set yet, and a thread that still loads the
    // old spec gets one that lives as long as the table.
    slots_[i]->spec.store(applied_->specs[i], std::memory_order_relaxed);
  }
}

SlotTable::Schedule& SlotTable::schedule(const CollectionSet& due) {
  auto& schedules = plans_.back().schedules;
  Schedule* found = nullptr;
  for (const auto& candidate : schedules)
    if (candidate->due == due) found = candidate.get();
  if (found == nullptr) {
    schedules.push_back(std::make_unique<Schedule>(Schedule{due, {}}));
    found = schedules.back().get();
  }
  for (std::size_t i = found->specs.size(); i < slots_.size(); ++i)
    found->specs.push_back(spec(slots_[i]->matched & due));
  return *found;
}

const SaveSpec* SlotTable::spec(const CollectionSet& due_and_matched) {
  if (due_and_matched.empty()) return nullptr;
  PlanInUse& in_use = plans_.back();
  auto& kept = in_use.specs[due_and_matched];
  if (!kept) {
    kept = std::make_unique<SaveSpec>(in_use.plan->save_spec(due_and_matched));
  }
  return kept.get();
}

void SlotTable::for_each(
    const std::function<void(const SlotState&)>& visit) const {
  std::lock_guard lock(mutex_);
  for (const auto& slot : slots_) visit(*slot);
}

}  // namespace smdebug
