#include "base/suggestions.h"

#include <algorithm>
#include <compare>
#include <cstdint>
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

constexpr std::string_view kSeparators = "/.:";

// Whether `name` contains the words of `wanted` in their order, as
// "dense/weights/dense/kernel:0" those of "dense.kernel". A short word that is
// no number occurs in too many names.
bool has_words_of(std::string_view wanted, std::string_view name) {
  constexpr std::size_t kLeastLetters = 3;
  std::size_t words = 0, from = 0;
  for (std::size_t begin = 0, end = 0; end < wanted.size(); begin = end + 1) {
    end = std::min(wanted.find_first_of("/.: _-", begin), wanted.size());
    const std::string_view word = wanted.substr(begin, end - begin);
    if (word.empty()) continue;
    const bool is_number = find_number<std::uint64_t>(word).has_value();
    if (word.size() < kLeastLetters && !is_number) return false;
    const std::size_t found = name.find(word, from);
    if (found == name.npos) return false;
    from = found + word.size();
    ++words;
  }
  return words > 1;
}

// Whether `part` is a whole component of the path `name`, as "kernel" of
// "dense/kernel:0".
bool is_component(std::string_view part, std::string_view name) {
  const auto is_separator = [&](std::size_t at) {
    return kSeparators.find(name[at]) != kSeparators.npos;
  };
  for (std::size_t at = name.find(part); at != name.npos;
       at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if ((at == 0 || is_separator(at - 1)) &&
        (end == name.size() || is_separator(end)))
      return true;
  }
  return false;
}

// How far a name is from the wanted one, both in lower case; the smaller, the
// nearer.
struct Rank {
  enum class Kind { component, contained, words, letters } kind;
  std::size_t distance = 0;

  auto operator<=>(const Rank&) const = default;
};

Rank rank_of(std::string_view wanted, std::string_view name) {
  if (!wanted.empty() && is_component(wanted, name))
    return {Rank::Kind::component};
  if (!wanted.empty() && name.find(wanted) != name.npos)
    return {Rank::Kind::contained};
  return {has_words_of(wanted, name) ? Rank::Kind::words : Rank::Kind::letters,
          distance(wanted, name)};
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted,
                                       std::span<const std::string> candidates,
                                       std::size_t n) {
  const std::string wanted_lower = lower_case(wanted);
  std::vector<std::pair<Rank, const std::string*>> ranked;
  for (const std::string& candidate : candidates)
    ranked.emplace_back(rank_of(wanted_lower, lower_case(candidate)),
                        &candidate);
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
    const Rank rank = rank_of(wanted_lower, lower_case(name));
    // `distance` counts a wrong letter twice.
    if (rank.kind != Rank::Kind::letters || rank.distance < wanted.size())
      similar.push_back(std::move(name));
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
