#pragma once

// All sites of a session, by name, and what the plan in use says of each.
// Making a site searches its name with every pattern of the plan, once. When
// the set of due collections changes from one step to the next, each site is
// told what will be written of it; the answers are kept per set.

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

#include "capture/slot_state.h"

namespace smdebug {

class SiteTable {
 public:
  explicit SiteTable(std::shared_ptr<const Plan> plan);

  // The site of that name, made if it is new. Any thread.
  Site* site(std::string_view name);
  // The module of that path, made if it is new. Any thread.
  ModuleSite* module(std::string_view path);
  // Counts the next input or output of `module` (`direction` is one of its
  // two) and returns its site if it is due, else null. Any thread.
  Site* next_due(const ModuleSite& module, ModuleSite::Direction& direction,
                 std::uint64_t sequence);

  // Says that `site` belongs to the collections of those names, in this plan
  // and in later ones, whatever it is called. Any thread.
  // Returns whether any of them is new to it.
  bool assign(Site& site, std::span<const std::string> collections);

  // The saved collections of `plan`, in use or not, that `site` belongs to.
  CollectionSet matches(const Site& site, const Plan& plan) const;

  // Says which part of a larger tensor `site` is from now on. Any thread.
  void place(Site& site, const std::optional<ShardPlacement>& placement);

  // A list of `others` that lives as long as the table. The owner of steps.
  const std::vector<Site*>* keep_shared(Site& site, std::vector<Site*> others);

  // Changes the plan. Earlier plans live on: messages may still point to their
  // treatments.
  void use(std::shared_ptr<const Plan> plan);
  const Plan& plan() const { return *plans_.back().plan; }

  // Tells each site what is written of it when `due` are due.
  void apply(const CollectionSet& due);

  // Lists `site` in the collections of those names, which need not exist, and
  // returns what is written of a tensor of theirs: values where none exists.
  const Treatment* join(const Site& site,
                        std::span<const std::string> collections);

  // How often a site was found to belong to a saved collection, or joined one:
  // grows with what the collections file lists.
  std::size_t memberships() const { return memberships_; }
  // The names of tensors that joined, by collection.
  using Members = std::map<std::string, std::set<std::string>, std::less<>>;
  Members joined() const;
  // The names of tensors that were assigned, by collection.
  Members assigned_members() const;

  // Calls `visit` for each site in the order they were made. The table must
  // not be changed by it.
  void for_each(const std::function<void(const Site&)>& visit) const;

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const {
      return std::hash<std::string_view>{}(name);
    }
  };
  template <typename T>
  using ByName = std::unordered_map<std::string, T*, NameHash, std::equal_to<>>;

  // What each site has written of it when `due` are due, by site.
  struct Schedule {
    CollectionSet due;
    std::vector<const Treatment*> treatments;
  };
  struct PlanInUse {
    std::shared_ptr<const Plan> plan;
    std::map<CollectionSet, std::unique_ptr<Treatment>> treatments;
    std::vector<std::unique_ptr<Schedule>> schedules;
  };

  Site* make_site(std::string_view name);
  Site* site_of_call(const ModuleSite& module, ModuleSite::Direction& direction,
                     std::uint32_t call);
  void match(Site& site);
  // The saved collections of `plan` that `site` was assigned to.
  CollectionSet assigned(const Site& site, const Plan& plan) const;
  // Works out again what is written of `site` in the open step.
  void renew(Site& site);
  const Treatment* treatment(const CollectionSet& due_and_matched);
  Schedule& schedule(const CollectionSet& due);

  mutable std::mutex mutex_;  // guards everything below
  std::vector<std::unique_ptr<Site>> sites_;
  std::vector<std::unique_ptr<ModuleSite>> modules_;
  ByName<Site> sites_by_name_;
  ByName<ModuleSite> modules_by_path_;
  std::vector<PlanInUse> plans_;
  Schedule* applied_ = nullptr;
  std::size_t memberships_ = 0;
  Members joined_;
  // The names of collections that a site was assigned to, by its name.
  std::map<std::string, std::set<std::string>, std::less<>> assigned_;
};

}  // namespace smdebug
