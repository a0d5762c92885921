#include "rules/engine/other_trials.h"

#include <algorithm>

#include "base/words.h"

namespace smdebug {
namespace {

constexpr std::string_view kAll = "other_trials";
constexpr std::string_view kOne = "other_trial";

bool names_one(std::string_view name) {
  if (!name.starts_with(kOne)) return false;
  name.remove_prefix(kOne.size());
  return name.empty() ||
         (name.front() == '_' && find_number<int>(name.substr(1)));
}

}  // namespace

std::map<std::string, std::string> with_other_trials(
    std::span<const ParameterSpec> table,
    std::map<std::string, std::string> given) {
  if (std::ranges::find(table, kAll, &ParameterSpec::name) == table.end()) {
    return given;
  }
  std::string all;
  for (auto one = given.begin(); one != given.end();) {
    if (one->first != kAll && !names_one(one->first)) {
      ++one;
      continue;
    }
    all += one->second + ',';
    one = given.erase(one);
  }
  if (!all.empty()) given[std::string(kAll)] = all;
  return given;
}

}  // namespace smdebug
