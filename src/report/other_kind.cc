#include "report/other_kind.h"

#include <algorithm>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/suggestions.h"

namespace smdebug {
namespace {

constexpr std::size_t kMostNamed = 3;

std::string tensors_text(Trial& trial, const std::string& collection) {
  const auto found = trial.tensor_names({.collection = collection});
  if (!found || found->empty()) return "no tensor of it was saved";
  const std::span<const std::string> names = *found;
  const auto shown = names.first(std::min(names.size(), kMostNamed));
  std::string text = "its tensors are " + quoted_list(shown);
  if (names.size() > shown.size())
    text += fmt::format(" and {} more", names.size() - shown.size());
  return text;
}

}  // namespace

std::string other_kind_text(Trial& trial, const std::string& name) {
  const std::vector<std::string> series = trial.series_names();
  if (std::ranges::find(series, name) != series.end()) {
    return fmt::format(
        "a series of numbers; read it in Python with trial.series(\"{}\")",
        name);
  }
  if (trial.find_collection(name))
    return "a collection; " + tensors_text(trial, name);
  return "";
}

}  // namespace smdebug
