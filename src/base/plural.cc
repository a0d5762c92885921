#include "base/plural.h"

#include <fmt/format.h>

namespace smdebug {

std::string count_text(std::uint64_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

}  // namespace smdebug
