#include "smdebug/core/mode.h"

#include <algorithm>

namespace smdebug {
namespace {

// In the order of `kModes`.
constexpr std::array<std::string_view, kModes.size()> kNames = {
    "TRAIN", "EVAL", "PREDICT", "GLOBAL"};

bool equal_without_case(std::string_view upper, std::string_view text) {
  return std::equal(upper.begin(), upper.end(), text.begin(), text.end(),
                    [](char a, char b) {
                      return a == (b >= 'a' && b <= 'z' ? b - 'a' + 'A' : b);
                    });
}

}  // namespace

std::string_view mode_name(Mode mode) { return kNames[mode_index(mode)]; }

std::optional<Mode> find_mode(std::string_view name) {
  for (Mode mode : kModes) {
    if (equal_without_case(mode_name(mode), name)) return mode;
  }
  return {};
}

}  // namespace smdebug
