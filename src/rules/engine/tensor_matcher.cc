#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"
#include "smdebug/rules/runner.h"

#include "base/regex.h"
#include "base/text_hash.h"

namespace smdebug {

struct __attribute__((visibility("hidden"))) TensorMatcher::Impl {
  bool every_tensor = false;
  std::vector<Regex> regexes;
  std::size_t own_patterns = 0;   // the first regexes, those of the selector
  std::set<std::string> matched;  // of these
  std::unordered_set<std::string, TextHash, std::equal_to<>> names;
  std::unordered_map<std::string, bool, TextHash, std::equal_to<>> answers;
  std::unordered_set<std::string> given_up;  // patterns, each logged once

  // A pattern that is too complex takes nothing.
  bool decide(std::string_view name) {
    bool is_taken = every_tensor || names.contains(name);
    for (std::size_t i = 0; i < regexes.size(); ++i) {
      const std::string& pattern = regexes[i].pattern();
      const bool is_unknown = i < own_patterns && !matched.contains(pattern);
      if (is_taken && !is_unknown) continue;
      const auto found = regexes[i].search(name);
      if (!found && given_up.insert(pattern).second)
        default_logger().warning("a rule: " + found.error().message);
      if (!found.ok() || !*found) continue;
      is_taken = true;
      if (is_unknown) matched.insert(pattern);
    }
    return is_taken;
  }
};

TensorMatcher::TensorMatcher(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
TensorMatcher::TensorMatcher(TensorMatcher&&) noexcept = default;
TensorMatcher& TensorMatcher::operator=(TensorMatcher&&) noexcept = default;
TensorMatcher::~TensorMatcher() = default;

Result<TensorMatcher> TensorMatcher::create(
    const TensorSelector& selector, std::span<const TensorGroup> groups) {
  auto impl = std::make_unique<Impl>();
  impl->every_tensor = selector.every_tensor;
  for (const std::string& pattern : selector.regexes) {
    SMD_TRY(auto regex, Regex::compile(pattern));
    impl->regexes.push_back(std::move(regex));
  }
  impl->own_patterns = impl->regexes.size();
  for (const TensorGroup& group : groups) {
    if (std::ranges::find(selector.collections, group.name) ==
        selector.collections.end()) {
      continue;
    }
    impl->names.insert(group.tensor_names.begin(), group.tensor_names.end());
    for (const std::string& pattern : group.include_regex) {
      auto regex = Regex::compile(pattern);
      if (!regex) {
        return std::move(regex).error().within("collection '" + group.name +
                                               "'");
      }
      impl->regexes.push_back(*std::move(regex));
    }
  }
  return TensorMatcher(std::move(impl));
}

const std::set<std::string>& TensorMatcher::matched_patterns() const {
  return impl_->matched;
}

bool TensorMatcher::matches(std::string_view tensor_name) {
  const auto known = impl_->answers.find(tensor_name);
  if (known != impl_->answers.end()) return known->second;
  const bool answer = impl_->decide(tensor_name);
  impl_->answers.emplace(tensor_name, answer);
  return answer;
}

}  // namespace smdebug
