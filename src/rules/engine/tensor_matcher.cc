#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "smdebug/base/logger.h"
#include "smdebug/base/try.h"
#include "smdebug/rules/runner.h"

#include "base/regex.h"

namespace smdebug {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

}  // namespace

struct TensorMatcher::Impl {
  bool every_tensor = false;
  std::vector<Regex> regexes;
  std::unordered_set<std::string, TextHash, std::equal_to<>> names;
  std::unordered_map<std::string, bool, TextHash, std::equal_to<>> answers;
  std::unordered_set<std::string> given_up;  // patterns, each logged once

  // A pattern that is too complex takes nothing.
  bool decide(std::string_view name) {
    if (every_tensor || names.contains(name)) return true;
    return std::ranges::any_of(regexes, [&](const Regex& regex) {
      const auto found = regex.search(name);
      if (!found && given_up.insert(regex.pattern()).second)
        default_logger().warning("a rule: " + found.error().message);
      return found.ok() && *found;
    });
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

bool TensorMatcher::matches(std::string_view tensor_name) {
  const auto known = impl_->answers.find(tensor_name);
  if (known != impl_->answers.end()) return known->second;
  const bool answer = impl_->decide(tensor_name);
  impl_->answers.emplace(tensor_name, answer);
  return answer;
}

}  // namespace smdebug
