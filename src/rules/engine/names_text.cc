#include "rules/engine/names_text.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace smdebug {

std::string names_text(std::span<const std::string> names) {
  constexpr std::size_t kMostNames = 3;
  const auto shown = names.first(std::min(names.size(), kMostNames));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kMostNames)
    text += fmt::format(" and {} more", names.size() - kMostNames);
  return text;
}

}  // namespace smdebug
