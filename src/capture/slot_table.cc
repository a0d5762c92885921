#include "capture/slot_table.h"

#include <algorithm>
#include <utility>

namespace smdebug {

SiteTable::SiteTable(std::shared_ptr<const Plan> plan) { use(std::move(plan)); }

Site* SiteTable::site(std::string_view name) {
  std::lock_guard lock(mutex_);
  return make_site(name);
}

Site* SiteTable::make_site(std::string_view name) {
  if (auto found = sites_by_name_.find(name); found != sites_by_name_.end())
    return found->second;
  sites_.push_back(std::make_unique<Site>(std::string(name)));
  Site* site = sites_.back().get();
  sites_by_name_.emplace(site->name, site);
  match(*site);
  if (applied_ != nullptr) {
    applied_->treatments.resize(sites_.size() - 1);
    applied_->treatments.push_back(treatment(site->matched & applied_->due));
    site->treatment.store(applied_->treatments.back());
  }
  return site;
}

ModuleSite* SiteTable::module(std::string_view path) {
  std::lock_guard lock(mutex_);
  auto found = modules_by_path_.find(path);
  if (found != modules_by_path_.end()) return found->second;
  modules_.push_back(std::make_unique<ModuleSite>(std::string(path)));
  ModuleSite* module = modules_.back().get();
  modules_by_path_.emplace(module->path, module);
  return module;
}

Site* SiteTable::next_due(const ModuleSite& module,
                          ModuleSite::Direction& direction,
                          std::uint64_t sequence) {
  if (direction.sequence.load(std::memory_order_relaxed) != sequence) {
    direction.sequence.store(sequence, std::memory_order_relaxed);
    direction.calls.store(0, std::memory_order_relaxed);
  }
  const std::uint32_t call =
      direction.calls.fetch_add(1, std::memory_order_relaxed);
  Site* site = nullptr;
  if (call < ModuleSite::Direction::kKept)
    site = direction.sites[call].load(std::memory_order_acquire);
  if (site == nullptr) site = site_of_call(module, direction, call);
  const bool is_due =
      site->treatment.load(std::memory_order_relaxed) != nullptr;
  return is_due ? site : nullptr;
}

Site* SiteTable::site_of_call(const ModuleSite& module,
                              ModuleSite::Direction& direction,
                              std::uint32_t call) {
  const bool is_input = &direction == &module.inputs;
  Site* made = site(module.path + (is_input ? "_input_" : "_output_") +
                    std::to_string(call));
  if (call < ModuleSite::Direction::kKept)
    direction.sites[call].store(made, std::memory_order_release);
  return made;
}

const Treatment* SiteTable::join(const Site& site,
                                 std::span<const std::string> collections) {
  static const Treatment values{.raw = true};
  std::lock_guard lock(mutex_);
  CollectionSet known;
  const auto all = plan().collections();
  for (const std::string& name : collections) {
    if (joined_[name].insert(site.name).second) ++memberships_;
    const auto found = std::ranges::find(all, name, &Collection::name);
    if (found != all.end())
      known.insert(static_cast<std::size_t>(found - all.begin()));
  }
  return known.empty() ? &values : treatment(known);
}

SiteTable::Members SiteTable::joined() const {
  std::lock_guard lock(mutex_);
  return joined_;
}

SiteTable::Members SiteTable::assigned_members() const {
  std::lock_guard lock(mutex_);
  Members members;
  for (const auto& [tensor, collections] : assigned_)
    for (const std::string& name : collections) members[name].insert(tensor);
  return members;
}

bool SiteTable::assign(Site& site, std::span<const std::string> collections) {
  std::lock_guard lock(mutex_);
  bool is_new = false;
  for (const std::string& name : collections)
    is_new |= assigned_[site.name].insert(name).second;
  if (!is_new) return false;
  const CollectionSet before = site.matched;
  site.matched = site.matched | assigned(site, plan());
  if (site.matched == before) return true;
  ++memberships_;
  renew(site);
  return true;
}

CollectionSet SiteTable::matches(const Site& site, const Plan& plan) const {
  std::lock_guard lock(mutex_);
  return plan.match(site.name) | assigned(site, plan);
}

CollectionSet SiteTable::assigned(const Site& site, const Plan& plan) const {
  CollectionSet found;
  const auto names = assigned_.find(site.name);
  if (names == assigned_.end()) return found;
  const auto all = plan.collections();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (plan.is_saved(i) && names->second.contains(all[i].name()))
      found.insert(i);
  return found;
}

void SiteTable::renew(Site& site) {
  for (const auto& schedule : plans_.back().schedules) {
    for (std::size_t i = 0; i < schedule->treatments.size(); ++i) {
      if (sites_[i].get() == &site)
        schedule->treatments[i] = treatment(site.matched & schedule->due);
    }
  }
  if (applied_ != nullptr)
    site.treatment.store(treatment(site.matched & applied_->due));
}

void SiteTable::place(Site& site,
                      const std::optional<ShardPlacement>& placement) {
  const ShardPlacement* known = site.placement.load(std::memory_order_acquire);
  if (known == nullptr ? !placement : placement && *known == *placement) return;
  std::lock_guard lock(mutex_);
  const ShardPlacement* now = nullptr;
  if (placement) {
    site.placements.push_back(
        std::make_unique<const ShardPlacement>(*placement));
    now = site.placements.back().get();
  }
  site.placement.store(now, std::memory_order_release);
}

const std::vector<Site*>* SiteTable::keep_shared(Site& site,
                                                 std::vector<Site*> others) {
  for (const auto& known : site.shared_with)
    if (*known == others) return known.get();
  site.shared_with.push_back(
      std::make_unique<const std::vector<Site*>>(std::move(others)));
  return site.shared_with.back().get();
}

void SiteTable::use(std::shared_ptr<const Plan> plan) {
  std::lock_guard lock(mutex_);
  plans_.push_back({std::move(plan), {}, {}});
  applied_ = nullptr;
  memberships_ = 0;
  for (const auto& site : sites_) {
    match(*site);
    site->treatment.store(nullptr);
  }
}

void SiteTable::match(Site& site) {
  site.matched = plan().match(site.name) | assigned(site, plan());
  if (!site.matched.empty()) ++memberships_;
}

void SiteTable::apply(const CollectionSet& due) {
  std::lock_guard lock(mutex_);
  if (applied_ != nullptr && applied_->due == due) return;
  applied_ = &schedule(due);
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    sites_[i]->treatment.store(applied_->treatments[i],
                               std::memory_order_relaxed);
  }
}

SiteTable::Schedule& SiteTable::schedule(const CollectionSet& due) {
  auto& schedules = plans_.back().schedules;
  Schedule* found = nullptr;
  for (const auto& candidate : schedules)
    if (candidate->due == due) found = candidate.get();
  if (found == nullptr) {
    schedules.push_back(std::make_unique<Schedule>(Schedule{due, {}}));
    found = schedules.back().get();
  }
  for (std::size_t i = found->treatments.size(); i < sites_.size(); ++i)
    found->treatments.push_back(treatment(sites_[i]->matched & due));
  return *found;
}

const Treatment* SiteTable::treatment(const CollectionSet& due_and_matched) {
  if (due_and_matched.empty()) return nullptr;
  PlanInUse& in_use = plans_.back();
  auto& kept = in_use.treatments[due_and_matched];
  if (!kept) {
    kept = std::make_unique<Treatment>(in_use.plan->treatment(due_and_matched));
  }
  return kept.get();
}

void SiteTable::for_each(const std::function<void(const Site&)>& visit) const {
  std::lock_guard lock(mutex_);
  for (const auto& site : sites_) visit(*site);
}

}  // namespace smdebug
