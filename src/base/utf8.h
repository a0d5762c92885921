#pragma once

// Takes UTF-8 apart, for text whose writer is not known.

#include <cstddef>
#include <optional>
#include <string_view>

namespace smdebug {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 0;
};

// The first character of `text`; none where its bytes are not UTF-8, and where
// there are none. Overlong forms and surrogates are not UTF-8.
std::optional<CodePoint> first_code_point(std::string_view text);

bool is_utf8(std::string_view text);

}  // namespace smdebug
