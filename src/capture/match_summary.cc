#include "capture/match_summary.h"

#include <algorithm>

#include "base/nearest.h"

namespace smdebug {
namespace {

constexpr const char* kNothing = "nothing";

std::string sought(const TensorGroup& tensors) {
  std::vector<std::string> all = tensors.include_regex;
  all.insert(all.end(), tensors.tensor_names.begin(),
             tensors.tensor_names.end());
  return all.empty() ? kNothing : quoted_list(all);
}

bool is_saved(const Plan& plan, std::string_view name) {
  for (std::size_t i = 0; i < plan.collections().size(); ++i)
    if (plan.collections()[i].name() == name) return plan.is_saved(i);
  return false;
}

bool is_built_in(const Framework& framework, std::string_view name) {
  return std::ranges::any_of(
      framework.collections,
      [&](const Collection& built_in) { return built_in.name() == name; });
}

std::string nothing_found(const Collection& collection,
                          const std::vector<std::string>& names) {
  std::string text = "collection '" + collection.name() +
                     "' is to be saved, but " + sought(collection.tensors) +
                     " matched no tensor of the first saved step";
  if (names.empty()) return text + "; no tensor was seen at all";
  const TensorGroup& tensors = collection.tensors;
  const std::string& wanted =
      !tensors.include_regex.empty()  ? tensors.include_regex.front()
      : !tensors.tensor_names.empty() ? tensors.tensor_names.front()
                                      : tensors.name;
  return text + "; the nearest names are " +
         quoted_list(nearest_names(wanted, names, 3));
}

}  // namespace

MatchSummary summarize_matches(const SlotTable& slots) {
  const Plan& plan = slots.plan();
  std::vector<std::size_t> counts(plan.collections().size());
  std::vector<std::string> names;
  slots.for_each([&](const SlotState& slot) {
    names.push_back(slot.name);
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] += slot.matched.contains(i);
  });

  // Where everything is saved, nobody asked for the framework's collections by
  // name.
  const bool saves_all = is_saved(plan, "all");
  MatchSummary summary;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (!plan.is_saved(i)) continue;
    const Collection& collection = plan.collections()[i];
    if (collection.is_optional && counts[i] == 0) continue;
    summary.text += (summary.text.empty() ? "" : "\n") +
                    std::string("collection '") + collection.name() +
                    "': " + std::to_string(counts[i]) + " of " +
                    std::to_string(names.size()) + " tensors, by " +
                    sought(collection.tensors);
    const bool was_asked_for =
        sought(collection.tensors) != kNothing &&
        !(saves_all && is_built_in(plan.framework(), collection.name()));
    if (counts[i] == 0 && was_asked_for)
      summary.warnings.push_back(nothing_found(collection, names));
  }
  for (const std::string& error : plan.pattern_errors())
    summary.warnings.push_back(error);
  return summary;
}

}  // namespace smdebug
