#pragma once

// Text with a part replaced, for files that a parser must refuse. For tests
// only.

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace smdebug {

// Returns `text` with the first `from` replaced. Fails the test if there is
// none.
inline std::string replaced(std::string text, std::string_view from,
                            std::string_view to) {
  const auto at = text.find(from);
  if (at == text.npos) {
    ADD_FAILURE() << "no '" << from << "' in the text";
    return text;
  }
  return text.replace(at, from.size(), to);
}

}  // namespace smdebug
