#include "base/suggestions.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "smdebug/base/escape.h"

#include "base/strings.h"

namespace smdebug {
namespace {

// Names in a file can have any length, and the time to compare two of them
// grows with the product of their lengths.
constexpr std::size_t kMaxCompared = 200;

// The Levenshtein distance of `a` to `b` plus that to the best beginning of
// `b`, computed row by row: a mistyped beginning of a long name is nearer to it
// than to any short name. Compares only the beginning of long texts.
std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, kMaxCompared);
  b = b.substr(0, kMaxCompared);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back() + *std::ranges::min_element(row);
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n) {
  const std::string wanted_lower = lower_case(wanted);
  std::vector<std::pair<std::size_t, const std::string*>> ranked;
  for (const std::string& candidate : candidates) {
    const std::string lower = lower_case(candidate);
    const bool contained =
        !wanted.empty() && lower.find(wanted_lower) != std::string::npos;
    ranked.emplace_back(contained ? 0 : distance(wanted_lower, lower),
                        &candidate);
  }
  std::stable_sort(
      ranked.begin(), ranked.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(n, ranked.size()); ++i) {
    names.push_back(*ranked[i].second);
  }
  return names;
}

std::vector<std::string> similar_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n) {
  const std::string wanted_lower = lower_case(wanted);
  std::vector<std::string> similar;
  for (std::string& name : nearest_names(wanted, candidates, n)) {
    const std::string lower = lower_case(name);
    // `distance` counts a wrong letter twice.
    if (lower.find(wanted_lower) != std::string::npos ||
        distance(wanted_lower, lower) < wanted.size()) {
      similar.push_back(std::move(name));
    }
  }
  return similar;
}

std::string similar_text(std::string_view wanted,
                         std::span<const std::string> candidates) {
  constexpr std::size_t kMostOffered = 3;
  const auto similar = similar_names(wanted, candidates, kMostOffered);
  return similar.empty() ? "" : "; similar: " + quoted_list(similar);
}

std::optional<std::string> misspelled_name(
    std::string_view wanted, std::span<const std::string> candidates) {
  // `distance` counts a wrong letter twice: in the name and in its beginning.
  constexpr std::size_t kMostDistance = 4;
  constexpr std::size_t kLeastLength = 4;
  const std::string wanted_lower = lower_case(wanted);
  const std::vector<std::string> nearest = nearest_names(wanted, candidates, 1);
  if (nearest.empty() || wanted.size() < kLeastLength ||
      distance(wanted_lower, lower_case(nearest.front())) > kMostDistance) {
    return std::nullopt;
  }
  return nearest.front();
}

std::string quoted_list(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) {
    list += list.empty() ? "'" : ", '";
    list += printable(name);
    list += '\'';
  }
  return list;
}

std::string quoted_choice(std::span<const std::string> names) {
  if (names.size() < 2) return quoted_list(names);
  return quoted_list(names.first(names.size() - 1)) + " or " +
         quoted_list(names.last(1));
}

}  // namespace smdebug
